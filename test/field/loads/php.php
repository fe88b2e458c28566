<?php
// Callbacks from C, generators, exceptions, regular expressions.
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
function deep($n) { if (!$n) throw new Exception('deep'); deep($n - 1); }
function numbers($n) { for ($i = 0; $i < $n; $i++) yield $i; }

$text = str_repeat('the quick brown fox ', 200);
$loads = [
    fn() => fib(18),
    function () { $a = range(1, 2000); usort($a, fn($x, $y) => $x * 7919 % 2003 <=> $y * 7919 % 2003); },
    fn() => preg_replace_callback('/(\w+) (\w+)/', fn($m) => "$m[2] $m[1]", $text),
    fn() => json_decode(json_encode(array_map(fn($i) => ['i' => $i, 's' => str_repeat('x', $i % 50)], range(1, 500)))),
    fn() => hash('sha256', $text),
    function () { try { deep(100); } catch (Exception) { } },
    fn() => array_sum(iterator_to_array(numbers(3000))),
    fn() => unserialize(serialize(array_fill(0, 500, ['a' => 1, 'b' => new ArrayObject([1, 2])]))),
];
while (true) $loads[array_rand($loads)]();

# Callbacks from C, closures, exceptions, regular expressions.
use strict;
use warnings;
no warnings 'recursion';

sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
sub deep { my $n = shift; die 'deep' unless $n; deep($n - 1) }

my $text = 'the quick brown fox ' x 200;
my @loads = (
    sub { fib(15) },
    sub { my @a = sort { $a * 7919 % 2003 <=> $b * 7919 % 2003 } 1 .. 2000 },
    sub { (my $t = $text) =~ s/(\w+) (\w+)/join ' ', $2, $1/ge },
    sub { eval { deep(100) } },
    sub { my %h = map { $_ => [$_ x 3] } 1 .. 1000; join ',', map { @{ $h{$_} } } sort keys %h },
    sub { my @a = map { sprintf '%05d %s', $_, pack('w', $_) } 1 .. 1000 },
    sub { eval 'my $s = 0; $s += $_ % 7 for 1 .. 2000; $s' },
);
$loads[rand @loads]->() while 1;

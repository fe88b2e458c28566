# Threads, fibers, blocks, exceptions, regular expressions.
require 'json'
require 'zlib'

def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
def deep(n) = n.zero? ? raise('deep') : deep(n - 1)

text = 'the quick brown fox ' * 200
loads = [
  -> { fib(16) },
  -> { (1..2000).sort_by { |i| i * 7919 % 2003 } },
  -> { text.gsub(/(\w+) (\w+)/) { "#{$2} #{$1}" } },
  -> { JSON.parse(JSON.generate((1..300).map { |i| { i:, s: 'x' * (i % 50) } })) },
  -> { Zlib::Deflate.deflate(text) },
  -> { deep(100) rescue nil },
  -> { f = Fiber.new { 200.times { |i| Fiber.yield i } }; 200.times { f.resume } },
  -> { (1..Float::INFINITY).lazy.map { _1 * 2 }.select { _1 % 3 == 0 }.first(200) },
  -> { 1000.times.map { |i| i.to_s.to_sym }.each_slice(3).to_a; GC.start },
]
run = -> { loop { loads.sample.call } }
3.times { Thread.new(&run) }
run.call

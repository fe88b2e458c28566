import java.util.*;
import java.util.regex.*;
import java.util.stream.*;

/** Interpreted and compiled code, streams, exceptions, virtual threads, collection. */
public class Load {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

    static void deep(int n) { if (n == 0) throw new IllegalStateException("deep"); deep(n - 1); }

    static void caught() { try { deep(100); } catch (IllegalStateException e) { e.getStackTrace(); } }

    static final String TEXT = "the quick brown fox ".repeat(200);
    static final List<Runnable> LOADS = List.of(
        () -> fib(20),
        () -> IntStream.range(0, 3000).boxed().sorted(Comparator.comparing(i -> i * 7919 % 3001)).toList(),
        () -> Pattern.compile("(\\w+) (\\w+)").matcher(TEXT).replaceAll(m -> m.group(2) + " " + m.group(1)),
        Load::caught,
        () -> Stream.iterate(1, i -> i + 1).limit(1000).collect(Collectors.groupingBy(i -> i % 7)),
        () -> { var m = new TreeMap<String, byte[]>(); for (int i = 0; i < 500; i++) m.put("k" + i, new byte[1000]); },
        () -> { try { Thread.ofVirtual().start(() -> fib(15)).join(); } catch (InterruptedException e) { } });

    static void run() {
        var random = new Random();
        while (true) LOADS.get(random.nextInt(LOADS.size())).run();
    }

    public static void main(String[] args) {
        for (int i = 0; i < 3; i++) new Thread(Load::run).start();
        run();
    }
}

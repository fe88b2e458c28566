# Threads, callbacks from C, generators, regular expressions, sqlite, ctypes.
import hashlib, json, random, re, sqlite3, threading, zlib

text = "the quick brown fox " * 200


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def deep(n):
    if n == 0:
        raise ValueError("deep")
    deep(n - 1)


def caught():
    try:
        deep(100)
    except ValueError:
        pass


def queries():
    db = sqlite3.connect(":memory:")
    db.create_function("f", 1, lambda x: x * 2)
    db.execute("create table t(a)")
    db.executemany("insert into t values (?)", [(i,) for i in range(500)])
    db.execute("select sum(f(a)) from t").fetchall()


loads = [
    lambda: fib(18),
    lambda: sorted(range(3000), key=lambda i: i * 7919 % 3001),
    lambda: re.sub(r"(\w+) (\w+)", lambda m: m[2] + " " + m[1], text),
    lambda: json.loads(json.dumps([{"i": i, "s": "x" * (i % 50)} for i in range(500)])),
    lambda: hashlib.sha256(text.encode()).hexdigest(),
    lambda: zlib.compress(text.encode()),
    lambda: sum(map(lambda i: i * i, (i for i in range(5000)))),
    caught,
    queries,
]


def run():
    while True:
        random.choice(loads)()


for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
run()

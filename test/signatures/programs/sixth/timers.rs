// Both bugs subtract a later time from an earlier one in Deadline::left: one timer is due
// before the one that delays it has returned, one retry waits longer than its request may.
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Deadline(Duration);

impl Deadline {
    #[inline(never)]
    fn left(&self, now: Duration) -> Duration {
        self.0 - now
    }
}

#[derive(Default)]
struct Clock {
    now: Cell<Duration>,
}

impl Clock {
    fn now(&self) -> Duration {
        self.now.get()
    }

    fn sleep(&self, time: Duration) {
        self.now.set(self.now() + time);
    }

    fn after(&self, millis: u64) -> Deadline {
        Deadline(self.now() + Duration::from_millis(millis))
    }
}

type Action = Box<dyn Fn(&Clock)>;

#[derive(Default)]
struct Wheel {
    clock: Clock,
    due: BinaryHeap<Reverse<(Deadline, usize)>>,
    actions: Vec<Action>,
}

impl Wheel {
    fn every(&mut self, millis: u64, action: impl Fn(&Clock) + 'static) {
        self.due.push(Reverse((self.clock.after(millis), self.actions.len())));
        self.actions.push(Box::new(action));
    }

    fn wait(&self, until: Deadline) {
        self.clock.sleep(until.left(self.clock.now()));
    }

    fn tick(&mut self) -> Option<usize> {
        let Reverse((deadline, id)) = self.due.pop()?;
        self.wait(deadline);
        self.actions[id](&self.clock);
        Some(id)
    }

    fn run(&mut self) -> usize {
        let mut sum = 0;
        while let Some(id) = self.tick() {
            sum += id;
        }
        sum
    }
}

fn blink_and_save() {
    let mut wheel = Wheel::default();
    let slow = black_box(30);
    wheel.every(10, move |clock| clock.sleep(Duration::from_millis(slow)));
    wheel.every(25, |_| {});
    black_box(wheel.run());
}

trait Backoff {
    fn pause(&mut self) -> Duration;
}

struct Doubling(Duration);

impl Backoff for Doubling {
    fn pause(&mut self) -> Duration {
        let now = self.0;
        self.0 *= 2;
        now
    }
}

struct Request<'a> {
    clock: &'a Clock,
    ends: Deadline,
    failures: u32,
}

impl Request<'_> {
    fn send(&mut self, timeout: Duration) -> Result<Duration, Duration> {
        if self.failures == 0 {
            return Ok(timeout);
        }
        self.failures -= 1;
        Err(timeout / 4)
    }

    fn attempt(&mut self) -> Result<Duration, Duration> {
        let timeout = self.ends.left(self.clock.now());
        self.send(timeout)
    }
}

fn retry<B: Backoff>(mut request: Request, mut backoff: B, times: usize) -> Option<Duration> {
    (0..times).find_map(|_| match request.attempt() {
        Ok(left) => Some(left),
        Err(_) => {
            request.clock.sleep(backoff.pause());
            None
        }
    })
}

struct Client {
    clock: Clock,
    timeout: u64,
}

impl Client {
    fn get(&self, failures: u32) -> Option<Duration> {
        let request = Request { clock: &self.clock, ends: self.clock.after(self.timeout), failures };
        retry(request, Doubling(Duration::from_millis(10)), 9)
    }
}

fn fetch_news() {
    let client = Client { clock: Clock::default(), timeout: black_box(100) };
    black_box(client.get(black_box(1)));
    black_box(client.get(black_box(6)));
}

#[inline(never)]
fn descend(depth: usize, f: &dyn Fn()) -> usize {
    if depth == 0 {
        f();
        return 1;
    }
    black_box(descend(depth - 1, f)) + 1
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seed: usize = args[2].parse().unwrap();
    let job: fn() = if args[1] == "1" { blink_and_save } else { fetch_news };
    match seed % 3 {
        0 => job(),
        1 => std::thread::spawn(job).join().unwrap(),
        _ => {
            black_box(descend(1 + seed / 3 % 50, &job));
        }
    }
}

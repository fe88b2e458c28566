// Both bugs unwrap nothing in Log::latest: one log is read before anything was written,
// one was cleared by the reader before.
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug)]
struct Entry {
    level: u8,
    text: String,
}

#[derive(Default)]
struct Log {
    entries: VecDeque<Entry>,
}

impl Log {
    fn latest(&self) -> &Entry {
        self.entries.back().unwrap()
    }

    fn write(&mut self, level: u8, text: &str) {
        self.entries.push_back(Entry { level, text: text.to_string() });
    }
}

fn is_urgent(log: &Log) -> bool {
    log.latest().level > 3
}

fn icon(log: &Log) -> char {
    if is_urgent(log) { '!' } else { ' ' }
}

fn title_bar(logs: &[Log]) -> String {
    logs.iter().map(icon).collect()
}

fn show_window() {
    let mut logs = vec![Log::default(), Log::default()];
    logs[0].write(1, "started");
    black_box(title_bar(&logs));
}

struct Shipper {
    log: Arc<Mutex<Log>>,
    sent: usize,
}

impl Shipper {
    fn drain(&mut self) {
        let mut log = self.log.lock().unwrap();
        self.sent += log.entries.drain(..).count();
    }

    fn acknowledge(&self) -> usize {
        self.log.lock().unwrap().latest().text.len()
    }

    fn ship(&mut self) -> usize {
        self.drain();
        self.acknowledge()
    }
}

fn rotate() {
    let log = Arc::new(Mutex::new(Log::default()));
    log.lock().unwrap().write(2, "rotated");
    let mut shipper = Shipper { log, sent: 0 };
    black_box(shipper.ship());
    black_box(shipper.sent);
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
    let job: fn() = if args[1] == "1" { show_window } else { rotate };
    match seed % 3 {
        0 => job(),
        1 => std::thread::spawn(job).join().unwrap(),
        _ => {
            black_box(descend(1 + seed / 3 % 50, &job));
        }
    }
}

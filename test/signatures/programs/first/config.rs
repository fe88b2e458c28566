// Both bugs panic in Settings::get, which unwraps what is not there: one asks for a key
// that an old file does not have, one for a key that it spells wrong.
use std::collections::HashMap;
use std::hint::black_box;

struct Settings {
    values: HashMap<String, String>,
}

impl Settings {
    fn get(&self, key: &str) -> &str {
        self.values.get(key).map(|v| v.as_str()).unwrap()
    }
}

struct Server {
    settings: Settings,
}

impl Server {
    fn limit(&self) -> usize {
        self.settings.get("limit").parse().unwrap()
    }

    fn accept(&mut self, clients: usize) -> usize {
        (0..clients).filter(|c| *c < self.limit()).count()
    }
}

fn serve(settings: Settings) {
    let mut server = Server { settings };
    black_box(server.accept(black_box(3)));
}

trait Plugin {
    fn start(&self, settings: &Settings) -> String;
}

struct Logger;

impl Plugin for Logger {
    fn start(&self, settings: &Settings) -> String {
        ["level", "fil"].iter().map(|k| settings.get(k).to_string()).collect::<Vec<_>>().join(",")
    }
}

fn load_plugins(settings: Settings) {
    let plugins: Vec<Box<dyn Plugin>> = vec![Box::new(Logger)];
    for p in &plugins {
        black_box(p.start(&settings));
    }
}

fn settings() -> Settings {
    let values = [("level", "3"), ("file", "x")].iter().map(|(k, v)| (k.to_string(), v.to_string()));
    Settings { values: values.collect() }
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
    let job = if args[1] == "1" { serve } else { load_plugins };
    match seed % 3 {
        0 => job(settings()),
        1 => std::thread::spawn(move || job(settings())).join().unwrap(),
        _ => {
            black_box(descend(1 + seed / 3 % 50, &|| job(settings())));
        }
    }
}

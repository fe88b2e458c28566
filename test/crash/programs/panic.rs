// Panics, and aborts as a panic in a destructor does.
use std::thread;
use std::time::Duration;

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        std::process::abort();
    }
}

fn divide(values: &[i32], at: usize) -> i32 {
    let _guard = Guard;
    values[at] / 2
}

fn main() {
    let threads = std::env::args().nth(2).and_then(|s| s.parse().ok()).unwrap_or(0);
    for _ in 0..threads {
        thread::spawn(|| thread::sleep(Duration::from_secs(3600)));
    }
    thread::sleep(Duration::from_millis(5));
    println!("{}", divide(&[1, 2], threads + 7));
}

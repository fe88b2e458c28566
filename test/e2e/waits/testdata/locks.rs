// Threads of Rust that wait for a lock. Rust records no owner.
use std::sync::{Arc, Mutex};
extern "C" {
    fn gettid() -> i32;
}
fn say(name: &str) {
    println!("{} {}", name, unsafe { gettid() });
}
fn main() {
    let lock = Arc::new(Mutex::new(0));
    say("main");
    let _guard = lock.lock().unwrap();
    for i in 0..5 {
        let lock = lock.clone();
        std::thread::spawn(move || {
            say(&format!("waiter{}", i));
            *lock.lock().unwrap() += 1;
        });
    }
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
}

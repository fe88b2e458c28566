// Threads of Rust that wait for locks whose owners only guards tell.
use std::hint::black_box;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock};
use std::time::Duration;
extern "C" {
    fn gettid() -> i32;
}
fn say(name: &str) {
    println!("{} {}", name, unsafe { gettid() });
}
#[inline(never)]
fn rest(name: &str) {
    say(name);
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}
#[inline(never)]
fn hold(lock: &Mutex<Vec<i32>>) {
    let mut held = lock.lock().unwrap();
    held.push(1);
    rest("holder");
    black_box(&held);
}
#[inline(never)]
fn pass(lock: &Mutex<Vec<i32>>) {
    hold_it(lock.lock().unwrap());
}
#[inline(never)]
fn hold_it(held: MutexGuard<Vec<i32>>) {
    rest("holder");
    black_box(&held);
}
#[inline(never)]
fn read(lock: &RwLock<Vec<i32>>) {
    let held = lock.read().unwrap();
    rest("holder");
    black_box(&held);
}
#[inline(never)]
fn write(lock: &RwLock<Vec<i32>>) {
    let mut held = lock.write().unwrap();
    held.push(1);
    rest("holder");
    black_box(&held);
}
// Meanwhile another thread takes the lock.
#[inline(never)]
fn condition(lock: &Mutex<Vec<i32>>, changed: &Condvar) {
    let mut held = lock.lock().unwrap();
    say("holder");
    loop {
        held = changed.wait(held).unwrap();
    }
}
// The guard of the outer lock leads to what it protects, another lock.
#[inline(never)]
fn around(outer: &RwLock<Arc<Mutex<Vec<i32>>>>) {
    let held = outer.read().unwrap();
    rest("holder");
    black_box(&held);
}
fn take(lock: &Mutex<Vec<i32>>) {
    std::mem::forget(lock.lock().unwrap());
    rest("taker");
}
fn main() {
    let lock = Arc::new(Mutex::new(vec![]));
    let rw = Arc::new(RwLock::new(vec![]));
    let outer = Arc::new(RwLock::new(lock.clone()));
    let mode = std::env::args().nth(1).unwrap();
    let (l, r, m, o) = (lock.clone(), rw.clone(), mode.clone(), outer.clone());
    std::thread::spawn(move || match m.as_str() {
        "guard" => hold(&l),
        "argument" => pass(&l),
        "reader" => read(&r),
        "writer" => write(&r),
        "condition" => condition(&l, &Condvar::new()),
        "around" => around(&o),
        _ => (),
    });
    std::thread::sleep(Duration::from_millis(500));
    if mode == "condition" || mode == "around" {
        let l = lock.clone();
        std::thread::spawn(move || take(&l));
        std::thread::sleep(Duration::from_millis(500));
    }
    let (l, r) = (lock.clone(), rw.clone());
    let rw_mode = mode == "reader" || mode == "writer";
    let first = std::thread::spawn(move || {
        say("first");
        if rw_mode {
            r.write().unwrap().push(1);
        } else {
            l.lock().unwrap().push(1);
        }
    });
    say("second");
    if mode == "writer" {
        black_box(rw.read().unwrap().len());
    } else if mode == "reader" {
        rw.write().unwrap().push(2);
    } else {
        lock.lock().unwrap().push(2);
    }
    first.join().unwrap();
}

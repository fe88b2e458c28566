// panics ends as its argument says. Names that end in "-twin" look like the one before and
// have another cause.
use std::cell::RefCell;

#[inline(never)]
fn text(n: usize) -> usize {
    if n == 2 {
        panic!("no disk");
    }
    n
}

fn main() {
    let how = std::env::args().nth(1).unwrap();
    let n = std::env::args().count();
    match how.as_str() {
        "text" => {
            text(n);
        }
        "format" => panic!("no disk {}", n),
        "index" => {
            let numbers = vec![1, 2];
            println!("{}", numbers[n + 5]);
        }
        "none" => {
            let nothing: Option<usize> = if n == 9 { Some(1) } else { None };
            println!("{}", nothing.unwrap());
        }
        "error" => {
            let wrong: Result<usize, String> = Err("no disk".to_string());
            println!("{}", wrong.unwrap());
        }
        "divided" => println!("{}", 10 / (n - 2)),
        "borrowed" => {
            let cell = RefCell::new(1);
            let _one = cell.borrow_mut();
            println!("{}", cell.borrow_mut());
        }
        "abort-twin" => {
            eprintln!("thread 'main' panicked at panics.rs:1:1:\nno disk");
            std::process::abort();
        }
        _ => {}
    }
}

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

pub struct Item { pub id: i32, pub name: String }
pub trait Speak { fn speak(&self) -> i32; }
impl Speak for Item { fn speak(&self) -> i32 { self.id } }

#[inline(never)]
fn stop() { if black_box(true) { std::process::abort() } }

#[inline(never)]
fn here(text: &str, part: &[u16]) {
    let empty = String::new();
    let string = String::from("a string");
    let numbers: Vec<u64> = vec![1, 2, 3, 5];
    let items = vec![Item { id: 1, name: "apple".into() }, Item { id: 2, name: "pear".into() }];
    let words: Vec<&str> = vec!["x", "yz"];
    let some = Some(String::from("inside"));
    let none: Option<Box<i32>> = None;
    let good: Result<u8, String> = Ok(7);
    let bad: Result<u8, String> = Err("bad".into());
    let boxed = Box::new(Item { id: 3, name: "boxed".into() });
    let slice: Box<[i32]> = vec![4, 5].into_boxed_slice();
    let counted = Rc::new(RefCell::new(5));
    let again = counted.clone();
    let arc = Arc::new(11u32);
    let cell = Cell::new(12);
    let mutex = Mutex::new(13);
    let mut map = HashMap::new();
    map.insert("one".to_string(), 1);
    let mut set = HashSet::new();
    set.insert(21i32);
    let mut tree = BTreeMap::new();
    for i in 0..40 { tree.insert(i, i * 10); }
    for i in 3..40 { tree.remove(&i); }
    let mut big = BTreeMap::new();
    for i in 0..30u8 { big.insert(i, ()); }
    let mut deque: VecDeque<i32> = VecDeque::with_capacity(4);
    for i in 0..4 { deque.push_back(i); }
    deque.pop_front();
    deque.push_back(4);
    let object: Box<dyn Speak> = Box::new(Item { id: 9, name: "object".into() });
    black_box((&text, &part, &empty, &string, &numbers, &items, &words, &some, &none, &good));
    black_box((&bad, &boxed, &slice, &counted, &again, &arc, &cell, &mutex, &map, &set));
    black_box((&tree, &big, &deque, &object));
    stop();
    black_box((&text, &part, &empty, &string, &numbers, &items, &words, &some, &none, &good));
    black_box((&bad, &boxed, &slice, &counted, &again, &arc, &cell, &mutex, &map, &set));
    black_box((&tree, &big, &deque, &object));
    black_box(object.speak());
}

fn main() {
    let values = [1u16, 2, 3, 4];
    here("str slice", &values[1..3]);
}

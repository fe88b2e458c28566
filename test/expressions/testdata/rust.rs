use std::hint::black_box;

pub struct Point { pub x: i32, pub y: f64 }
pub enum Shape { Circle(f64), Rect { w: u32, h: u32 }, Empty }
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Mode { Slow = 1, Fast = 4 }
pub struct Pair(pub u8, pub i64);

pub static LIMIT: u32 = 77;
mod inner { pub static DEPTH: i16 = -9; }

#[inline(never)]
fn stop() { if black_box(true) { std::process::abort() } }

#[inline(never)]
fn here(depth: i32, point: &Point, values: &[u64], text: &str) {
    let small: u8 = 250;
    let array = [1i32, 2, 3, 4];
    let tuple = (7i32, 'z', true);
    let shape = Shape::Rect { w: 3, h: 4 };
    let circle = Shape::Circle(1.5);
    let empty = Shape::Empty;
    let mode = Mode::Fast;
    let pair = Pair(9, -1);
    let some: Option<i32> = Some(5);
    let none: Option<i32> = None;
    let wide: i128 = -170141183460469231731687303715884105728;
    let boxed = Box::new(42i32);
    black_box((&small, &array, &tuple, &shape, &circle, &empty, &mode, &pair));
    black_box((&some, &none, &wide, &boxed, &depth, &point, &values, &text));
    stop();
    black_box((&small, &array, &tuple, &shape, &circle, &empty, &mode, &pair));
    black_box((&some, &none, &wide, &boxed, &depth, &point, &values, &text));
}

fn main() {
    black_box((&LIMIT, &inner::DEPTH));
    let values = vec![10u64, 20, 30, 40, 50];
    here(black_box(6), &Point { x: 11, y: -0.5 }, &values[1..4], "slice");
}

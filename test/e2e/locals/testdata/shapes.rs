// Enums, slices and structures of Rust.
#![allow(dead_code, unused)]
use std::hint::black_box;

#[derive(Clone, Copy, Debug)]
enum Colour {
    Red,
    Green = 5,
    Blue,
}

#[derive(Clone, Debug)]
enum Shape {
    Point,
    Circle { radius: f64 },
    Rect(u32, u32),
}

#[derive(Clone, Debug)]
struct Named<'a> {
    name: &'a str,
    colour: Colour,
    shape: Shape,
    tuple: (i8, u64, char),
    ok: bool,
}

#[inline(never)]
fn fail(n: u32, named: &Named, list: &[i32], maybe: Option<u16>, boxed: Box<i64>) -> u32 {
    let total: i32 = list.iter().sum();
    let none: Option<&u8> = None;
    let wide: i128 = -5;
    let array = [1u8, 2, 3];
    let copy = named.clone();
    black_box((&total, &none, &wide, &array, &copy));
    std::process::abort();
}

fn main() {
    let list = vec![1, 2, 3, 4];
    let named = Named { name: "wheel", colour: Colour::Blue, shape: Shape::Rect(3, 4), tuple: (-1, 1 << 40, 'é'), ok: true };
    let circle = black_box(Shape::Circle { radius: 2.5 });
    let point = black_box(Shape::Point);
    let r = fail(black_box(7), &named, &list, Some(9), Box::new(-8));
    black_box((r, circle, point));
}

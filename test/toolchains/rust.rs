//! Counts the words of a file many times, so that there is something to look at: with
//! closures, maps, sorting, strings, a regular expression and recursion.
use regex_lite::Regex;
use std::collections::BTreeMap;

fn depth(text: &str, level: usize) -> usize {
    if level == 0 || text.len() < 2 {
        return text.chars().filter(|c| c.is_alphabetic()).count();
    }
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    let (a, b) = text.split_at(middle);
    depth(a, level - 1) + depth(b, level - 1)
}

fn count(text: &str) -> BTreeMap<String, usize> {
    let word = Regex::new(r"(?i)[a-z_]+[0-9]*").unwrap();
    let mut counts = BTreeMap::new();
    word.find_iter(text)
        .map(|m| m.as_str().to_lowercase())
        .for_each(|w| *counts.entry(w).or_insert(0) += 1);
    counts
}

fn main() {
    let path = std::env::args().nth(1).expect("name a file");
    let text = std::fs::read_to_string(path).expect("the file cannot be read");
    for round in 0..200 {
        let mut list: Vec<_> = count(&text).into_iter().collect();
        list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        println!("{round} {:?} {}", list.first(), depth(&text, 12));
    }
}

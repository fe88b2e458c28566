// Both bugs cut a text within a character in Line::before: one column counts characters,
// one was found in another line.
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;

struct Line(String);

impl Line {
    #[inline(never)]
    fn before(&self, column: usize) -> &str {
        &self.0[..column]
    }
}

trait Render {
    fn render(&self, out: &mut String);
}

struct Caret<'a> {
    line: &'a Line,
    column: usize,
}

impl Render for Caret<'_> {
    fn render(&self, out: &mut String) {
        write!(out, "{}^", self.line.before(self.column)).unwrap();
    }
}

fn draw(parts: &[&dyn Render]) -> String {
    let mut out = String::new();
    parts.iter().for_each(|p| p.render(&mut out));
    out
}

fn show_error() {
    let line = Line("größe = 1".to_string());
    let column = black_box(3);
    black_box(draw(&[&Caret { line: &line, column }]));
}

struct Index {
    columns: BTreeMap<String, usize>,
}

impl Index {
    fn of(line: &Line) -> Index {
        let mut columns = BTreeMap::new();
        for word in line.0.split(' ') {
            columns.insert(word.to_string(), line.0.find(word).unwrap_or(0));
        }
        Index { columns }
    }

    fn context<'a>(&self, line: &'a Line, word: &str) -> Option<&'a str> {
        self.columns.get(word).map(|at| line.before(*at))
    }
}

fn complete(old: &Line, new: &Line, word: &str) -> usize {
    Index::of(old).context(new, word).map_or(0, str::len)
}

fn type_word() {
    let (old, new) = (Line("a b".to_string()), Line("aé b".to_string()));
    black_box(complete(&old, &new, black_box("b")));
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
    let job: fn() = if args[1] == "1" { show_error } else { type_word };
    match seed % 3 {
        0 => job(),
        1 => std::thread::spawn(job).join().unwrap(),
        _ => {
            black_box(descend(1 + seed / 3 % 50, &job));
        }
    }
}

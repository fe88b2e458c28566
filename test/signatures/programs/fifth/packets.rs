// Both bugs copy a slice of another length in Packet::set_payload: one payload is padded,
// one packet has a length that was made for another header.
use std::hint::black_box;

struct Packet {
    bytes: Vec<u8>,
    header: usize,
}

impl Packet {
    fn new(header: usize, payload: usize) -> Packet {
        Packet { bytes: vec![0; header + payload], header }
    }

    #[inline(never)]
    fn set_payload(&mut self, payload: &[u8]) {
        self.bytes[self.header..].copy_from_slice(payload);
    }
}

fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len().div_ceil(4) * 4, 0);
    bytes
}

struct Sender {
    sent: Vec<Packet>,
}

impl Sender {
    fn send(&mut self, text: &str) {
        let mut p = Packet::new(8, text.len());
        p.set_payload(&padded(text));
        self.sent.push(p);
    }
}

fn greet() {
    let mut s = Sender { sent: vec![] };
    for word in black_box(["four", "eight or", "nine"]).iter().chain(&["three"]) {
        s.send(word);
    }
    black_box(s.sent.len());
}

trait Layer {
    fn header(&self) -> usize;
    fn wrap(&self, inner: &[u8]) -> Vec<u8> {
        let mut p = Packet::new(self.header(), inner.len());
        p.set_payload(inner);
        p.bytes
    }
}

struct Plain;
struct Tagged(bool);

impl Layer for Plain {
    fn header(&self) -> usize {
        4
    }
}

impl Layer for Tagged {
    fn header(&self) -> usize {
        if self.0 { 8 } else { 4 }
    }
    fn wrap(&self, inner: &[u8]) -> Vec<u8> {
        let mut p = Packet { bytes: vec![0; 4 + inner.len()], header: self.header() };
        p.set_payload(inner);
        p.bytes
    }
}

fn forward() {
    let layers: [Box<dyn Layer>; 3] = [Box::new(Plain), Box::new(Tagged(false)), Box::new(Tagged(true))];
    let all = layers.iter().fold(vec![1, 2, 3], |bytes, layer| layer.wrap(&bytes));
    black_box(all.len());
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
    let job: fn() = if args[1] == "1" { greet } else { forward };
    match seed % 3 {
        0 => job(),
        1 => std::thread::spawn(job).join().unwrap(),
        _ => {
            black_box(descend(1 + seed / 3 % 50, &job));
        }
    }
}

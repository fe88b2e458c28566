// Both bugs panic in Graph::edges, which borrows what is borrowed already: one visitor
// adds what it visits, one observer looks at the graph that tells it of a change.
use std::cell::{RefCell, RefMut};
use std::hint::black_box;
use std::rc::Rc;

struct Graph {
    edges: RefCell<Vec<(usize, usize)>>,
}

impl Graph {
    fn edges(&self) -> RefMut<'_, Vec<(usize, usize)>> {
        self.edges.borrow_mut()
    }

    fn connect(&self, a: usize, b: usize) {
        self.edges().push((a, b));
    }

    fn visit(&self, f: &mut dyn FnMut(usize, usize)) {
        for (a, b) in self.edges().iter() {
            f(*a, *b);
        }
    }
}

fn add_opposites(g: &Graph) {
    g.visit(&mut |a, b| g.connect(b, a));
}

fn make_symmetric() {
    let g = Graph { edges: RefCell::new(vec![(1, 2), (2, 3)]) };
    add_opposites(&g);
    black_box(g.edges().len());
}

trait Observer {
    fn changed(&mut self, at: usize);
}

struct Counter {
    graph: Rc<Graph>,
    seen: usize,
}

impl Observer for Counter {
    fn changed(&mut self, at: usize) {
        self.seen += at + self.graph.edges().len();
    }
}

struct Editor {
    graph: Rc<Graph>,
    observers: Vec<Box<dyn Observer>>,
}

impl Editor {
    fn remove(&mut self, at: usize) {
        let mut edges = self.graph.edges();
        edges.remove(at);
        for o in self.observers.iter_mut() {
            o.changed(at);
        }
    }
}

fn edit() {
    let graph = Rc::new(Graph { edges: RefCell::new(vec![(1, 2), (2, 3)]) });
    let counter = Counter { graph: graph.clone(), seen: 0 };
    let mut editor = Editor { graph, observers: vec![Box::new(counter)] };
    editor.remove(black_box(0));
    black_box(editor.observers.len());
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
    let job: fn() = if args[1] == "1" { make_symmetric } else { edit };
    match seed % 3 {
        0 => job(),
        1 => std::thread::spawn(job).join().unwrap(),
        _ => {
            black_box(descend(1 + seed / 3 % 50, &job));
        }
    }
}

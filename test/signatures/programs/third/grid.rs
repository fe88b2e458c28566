// Both bugs index beyond the cells in Grid::at: one neighbour is outside of the grid, one
// window is wider than the grid that it is moved over.
use std::hint::black_box;
use std::ops::AddAssign;

struct Grid<T> {
    width: usize,
    cells: Vec<T>,
}

impl<T: Copy + AddAssign + Default> Grid<T> {
    fn new(width: usize, height: usize, value: T) -> Self {
        Grid { width, cells: vec![value; width * height] }
    }

    fn at(&self, x: usize, y: usize) -> T {
        self.cells[y * self.width + x]
    }

    fn sum(&self, places: impl Iterator<Item = (usize, usize)>) -> T {
        let mut sum = T::default();
        places.for_each(|(x, y)| sum += self.at(x, y));
        sum
    }
}

fn neighbours(x: usize, y: usize) -> impl Iterator<Item = (usize, usize)> {
    [(0, 1), (1, 0), (1, 1)].into_iter().map(move |(dx, dy)| (x + dx, y + dy))
}

fn alive(grid: &Grid<u8>, x: usize, y: usize) -> bool {
    grid.sum(neighbours(x, y)) == 3
}

fn step(grid: &Grid<u8>) -> usize {
    (0..4).flat_map(|y| (0..4).map(move |x| (x, y))).filter(|&(x, y)| alive(grid, x, y)).count()
}

fn play() {
    let grid = Grid::new(4, 4, 1u8);
    black_box(step(&grid));
}

struct Kernel {
    size: usize,
    weight: f64,
}

trait Filter {
    fn apply(&self, image: &Grid<f64>, x: usize, y: usize) -> f64;
}

impl Filter for Kernel {
    fn apply(&self, image: &Grid<f64>, x: usize, y: usize) -> f64 {
        let size = self.size;
        self.weight * image.sum((0..size * size).map(|i| (x + i % size, y + i / size)))
    }
}

fn blur(image: &Grid<f64>, filter: &dyn Filter) -> f64 {
    filter.apply(image, 0, 0)
}

fn thumbnail() {
    let image = Grid::new(4, black_box(4), 0.5);
    let kernel = Kernel { size: 5, weight: 0.1 };
    black_box(blur(&image, &kernel));
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
    let job: fn() = if args[1] == "1" { play } else { thumbnail };
    match seed % 3 {
        0 => job(),
        1 => std::thread::spawn(job).join().unwrap(),
        _ => {
            black_box(descend(1 + seed / 3 % 50, &job));
        }
    }
}

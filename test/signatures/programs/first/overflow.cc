// Both bugs overflow the stack, most often in append, which both recursions call: a type
// that has itself as its element is printed, and an expression whose operand is itself is
// evaluated.
#include "../noise.h"
#include <cstring>

namespace {

struct Text {
	char data[256];
	unsigned used;
};

__attribute__((noinline)) void append(Text &to, const char *what)
{
	char copy[64];
	std::strncpy(copy, what, sizeof copy - 1);
	copy[sizeof copy - 1] = 0;
	to.data[to.used++ % sizeof to.data] = copy[0];
}

struct Type { const Type *element; const char *name; };

class Printer {
public:
	int type(const Type &t);

private:
	int array(const Type &t);
	Text text_{};
};

int Printer::array(const Type &t)
{
	append(text_, "[");
	int n = type(*t.element);
	append(text_, "]");
	return n + 1;
}

int Printer::type(const Type &t)
{
	append(text_, t.name);
	return t.element ? array(t) + noise_rounds : 1;
}

void describe_types()
{
	Type t{};
	t.name = "list";
	t.element = &t;
	noise_rounds += Printer().type(t);
}

struct Expr { const Expr *left, *right; int op; };

struct Machine { Text trace; };

int evaluate(Machine &m, const Expr &e);

int operand(Machine &m, const Expr *e)
{
	append(m.trace, "operand");
	return e ? evaluate(m, *e) + 1 : 0;
}

int binary(Machine &m, const Expr &e)
{
	int l = operand(m, e.right);
	return l + operand(m, e.left);
}

int evaluate(Machine &m, const Expr &e)
{
	append(m.trace, "evaluate");
	switch (e.op) {
	case '+':
		return binary(m, e) + noise_rounds;
	default:
		return operand(m, e.left) + 1;
	}
}

void run_script()
{
	Machine m{};
	Expr outer{}, inner{};
	outer.op = '+';
	outer.right = &inner;
	inner.left = &outer;
	noise_rounds += evaluate(m, outer);
}

} // namespace

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? describe_types : run_script);
	return argc;
}

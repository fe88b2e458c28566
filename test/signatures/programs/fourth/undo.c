// Both bugs write through the cursor of an empty buffer in put_char: one buffer failed to
// grow, one was given away by undo.
#include "../noise.h"

struct buffer { char *text; int used, size; };

static void put_char(struct buffer *b, char c)
{
	b->text[b->used++] = c;
}

static char *volatile nothing; // or compilers leave out what uses it

static int grow(struct buffer *b, int limit)
{
	int size = b->size * 2 + noise_rounds % 2;
	if (size > limit)
		return -1;
	b->text = realloc(b->text, size);
	b->size = size;
	return 0;
}

static void append(struct buffer *b, const char *text, int limit)
{
	for (; *text; text++) {
		if (b->used == b->size && grow(b, limit) < 0)
			b->text = nothing;
		put_char(b, *text);
	}
}

static void quote(struct buffer *b, const char *text)
{
	append(b, "\"", 8);
	append(b, text, 8);
	append(b, "\"", 8);
}

static void export_names(void)
{
	struct buffer b = {malloc(4), 0, 4};
	quote(&b, "a long name");
	noise_rounds += b.used;
}

struct editor { struct buffer now, before; };

static void type_key(struct editor *e, char c)
{
	e->before = e->now;
	put_char(&e->now, c);
}

static void undo(struct editor *e)
{
	e->now = e->before;
	e->before.text = nothing;
	e->before.used = 0;
}

static void replay(struct editor *e, const char *keys)
{
	for (; *keys; keys++) {
		if (*keys == '<')
			undo(e);
		else
			type_key(e, *keys);
	}
}

static void record_macro(void)
{
	struct editor e = {{malloc(16), 0, 16}, {NULL, 0, 0}};
	replay(&e, "ab<<c");
	noise_rounds += e.now.used;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? export_names : record_macro);
	return argc;
}

// Both bugs measure a text that is not there in append: one letter has no subject, one
// name is not in the address book.
#include "../noise.h"
#include <string.h>

struct text { char *bytes; size_t used, room; };

static void append(struct text *t, const char *s)
{
	size_t n = strlen(s);
	if (t->used + n + 1 > t->room) {
		t->room = 2 * (t->used + n + 1);
		t->bytes = realloc(t->bytes, t->room);
	}
	memcpy(t->bytes + t->used, s, n + 1);
	t->used += n;
}

struct letter { const char *from, *subject, *body; };

static void header(struct text *t, const char *key, const char *value)
{
	append(t, key);
	append(t, ": ");
	append(t, value);
	append(t, "\n");
}

static void write_letter(struct text *t, const struct letter *l)
{
	header(t, "From", l->from);
	header(t, "Subject", l->subject);
	append(t, l->body);
}

static void send_all(void)
{
	struct letter out[] = {{"a", "b", "c"}, {"d", noise_rounds < 0 ? "e" : NULL, "f"}};
	struct text t = {0};
	for (size_t i = 0; i < sizeof out / sizeof *out; i++)
		write_letter(&t, &out[i]);
	noise_rounds += (int)t.used;
	free(t.bytes);
}

struct entry { const char *name, *address; };

static const struct entry book[] = {{"ann", "ann@a"}, {"bob", "bob@b"}, {"eve", "eve@e"}};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static const char *look_up(const char *name)
{
	struct entry key = {name, NULL};
	const struct entry *e = bsearch(&key, book, sizeof book / sizeof *book, sizeof *book, by_name);
	return e == NULL ? NULL : e->address;
}

static void list_to(struct text *t, const char **names, int n)
{
	while (n-- > 0) {
		append(t, look_up(*names++));
		append(t, ", ");
	}
}

static void invite(void)
{
	const char *names[] = {"bob", noise_rounds < 0 ? "eve" : "dan"};
	struct text t = {0};
	list_to(&t, names, 2);
	noise_rounds += (int)t.used;
	free(t.bytes);
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? send_all : invite);
	return argc;
}

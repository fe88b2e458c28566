// Both bugs change the case of a text in place in fold_case, where it may not be written:
// one header has its default value, a literal, one word lies in a file mapped for reading.
#define _GNU_SOURCE
#include "../noise.h"
#include <ctype.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fold_case(char *text, int length)
{
	int changed = 0;
	for (int i = 0; i < length; i++) {
		char c = tolower((unsigned char)text[i]);
		changed += c != text[i];
		text[i] = c;
	}
	return changed;
}

struct header { char name[24]; char *value; };
struct request { struct header headers[8]; int count; };

static char *volatile default_type = "Text/Plain";

static void set_header(struct request *r, const char *name, char *value)
{
	struct header *h = &r->headers[r->count++];
	strncpy(h->name, name, sizeof h->name - 1);
	h->value = value;
}

static void parse_headers(struct request *r, const char *from)
{
	char *text = strdup(from), *rest = text, *line;
	while ((line = strsep(&rest, "\n"))) {
		char *colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = 0;
		set_header(r, line, strdup(colon + 1));
	}
	free(text);
}

static char *find_header(struct request *r, const char *name, char *fallback)
{
	for (int i = 0; i < r->count; i++)
		if (strcasecmp(r->headers[i].name, name) == 0)
			return r->headers[i].value;
	return fallback;
}

static int content_kind(struct request *r)
{
	char *type = find_header(r, "content-type", default_type);
	fold_case(type, strlen(type));
	return strcmp(type, "text/html") == 0;
}

static int respond(struct request *r, int (*route)(struct request *))
{
	int kind = route(r);
	for (int i = 0; i < r->count; i++)
		free(r->headers[i].value);
	return kind;
}

static int serve(const char *text)
{
	struct request r = {.count = 0};
	parse_headers(&r, text);
	return respond(&r, content_kind);
}

static void handle_requests(void)
{
	noise_rounds += serve("Host:a\nContent-Type:Text/HTML\n");
	noise_rounds += serve("Host:a\nAccept:*\n");
}

struct word { char *at; int length; };
struct dictionary { char *text; long size; };

static int open_dictionary(struct dictionary *d, const char *words)
{
	int fd = memfd_create("words", 0);
	d->size = strlen(words);
	if (fd < 0 || write(fd, words, d->size) != d->size)
		return -1;
	d->text = mmap(NULL, d->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return d->text == MAP_FAILED ? -1 : 0;
}

static struct word word_at(struct dictionary *d, long from)
{
	struct word w = {d->text + from, 0};
	while (from + w.length < d->size && w.at[w.length] != '\n')
		w.length++;
	return w;
}

static int same_word(struct word a, struct word b)
{
	fold_case(a.at, a.length);
	fold_case(b.at, b.length);
	return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static int known(struct dictionary *d, char *text)
{
	struct word wanted = {text, strlen(text)};
	for (long at = 0; at < d->size;) {
		struct word w = word_at(d, at);
		if (same_word(wanted, w))
			return 1;
		at += w.length + 1;
	}
	return 0;
}

static void check_spelling(void)
{
	char text[] = "Berlin";
	struct dictionary d;
	if (open_dictionary(&d, "Aachen\nBerlin\n") == 0)
		noise_rounds += known(&d, text);
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? handle_requests : check_spelling);
	return argc;
}

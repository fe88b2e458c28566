/* Loads an object twice, as a just-in-time compiler does with what it made,
   registers both by gdb's interface, and crashes in a function that the second
   calls through the first. No library. */
#include <elf.h>
#include <stdint.h>

#if defined __x86_64__
#define MMAP 9
static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return n;
}
__asm__(".globl _start\n_start:\t.cfi_startproc\n.cfi_undefined rip\nxor %ebp,%ebp\ncall run\nhlt\n.skip 96\n.cfi_endproc");
#elif defined __aarch64__
#define MMAP 222
static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
__asm__(".globl _start\n_start:\t.cfi_startproc\n.cfi_undefined x30\nmov x29, 0\nbl run\nbrk 1\n.skip 96\n.cfi_endproc");
#elif defined __s390x__
#define MMAP 90
static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	long args[6] = {a, b, c, d, e, f};
	register long r1 __asm__("1") = n, r2 __asm__("2") = (long)args;
	__asm__ volatile("svc 0" : "+d"(r2) : "d"(r1) : "memory");
	return r2;
}
__asm__(".globl _start\n_start:\t.cfi_startproc\n.cfi_undefined r14\naghi %r15,-160\nbrasl %r14,run\nj .+2\n.skip 96\n.cfi_endproc");
#endif

struct jit_code_entry {
	struct jit_code_entry *next_entry, *prev_entry;
	const char *symfile_addr;
	uint64_t symfile_size;
};

struct jit_descriptor {
	uint32_t version, action_flag;
	struct jit_code_entry *relevant_entry, *first_entry;
} __jit_debug_descriptor = {1, 0, 0, 0};

void __attribute__((noinline)) __jit_debug_register_code(void) { __asm__ volatile("" ::: "memory"); }

extern const char object[], object_end[];
__asm__(".section .rodata\n.balign 16\n.globl object, object_end\nobject:\n.incbin \"code.o\"\nobject_end:\n.previous");

typedef long (*step)(long n, const void *next);

static char heap[16384]; /* for the images */
static char *room;       /* for what they load; executable and writable */

static char *take(uint64_t size, uint64_t align)
{
	room = (char *)(((uintptr_t)room + align - 1) & -align);
	char *p = room;
	room += size;
	return p;
}

static void copy(char *to, const char *from, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		((volatile char *)to)[i] = from[i];
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static uint64_t used; /* of the heap */

static step load(struct jit_code_entry *entry)
{
	uint64_t size = object_end - object;
	char *image = heap + used;
	used += (size + 15) & -16UL;
	copy(image, object, size);
	Elf64_Shdr *s = (Elf64_Shdr *)(image + ((Elf64_Ehdr *)image)->e_shoff);
	int n = ((Elf64_Ehdr *)image)->e_shnum;
	step found = 0;
	for (int i = 0; i < n; i++) {
		if (!(s[i].sh_flags & SHF_ALLOC) || s[i].sh_size == 0)
			continue;
		char *p = take(s[i].sh_size, s[i].sh_addralign < 64 ? 64 : s[i].sh_addralign);
		copy(p, image + s[i].sh_offset, s[i].sh_size);
		s[i].sh_addr = (uintptr_t)p;
	}
#if defined __s390x__ /* whose assembler leaves calls to the linker */
	for (int i = 0; i < n; i++) {
		if (s[i].sh_type != SHT_RELA || !(s[s[i].sh_info].sh_flags & SHF_EXECINSTR))
			continue;
		Elf64_Rela *r = (Elf64_Rela *)(image + s[i].sh_offset);
		Elf64_Sym *sym = (Elf64_Sym *)(image + s[s[i].sh_link].sh_offset);
		for (uint64_t j = 0; j < s[i].sh_size / sizeof *r; j++) {
			Elf64_Sym *to = &sym[ELF64_R_SYM(r[j].r_info)];
			uint64_t at = s[s[i].sh_info].sh_addr + r[j].r_offset;
			*(int *)at = (int)((s[to->st_shndx].sh_addr + to->st_value + r[j].r_addend - at) >> 1);
		}
	}
#endif
	for (int i = 0; i < n; i++) {
		if (s[i].sh_type != SHT_SYMTAB)
			continue;
		Elf64_Sym *sym = (Elf64_Sym *)(image + s[i].sh_offset);
		for (uint64_t j = 0; j < s[i].sh_size / sizeof *sym; j++)
			if (same(image + s[s[i].sh_link].sh_offset + sym[j].st_name, "outer"))
				found = (step)(s[sym[j].st_shndx].sh_addr + sym[j].st_value);
	}
	*entry = (struct jit_code_entry){__jit_debug_descriptor.first_entry, 0, image, size};
	if (entry->next_entry)
		entry->next_entry->prev_entry = entry;
	__jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = entry;
	__jit_debug_descriptor.action_flag = 1;
	__jit_debug_register_code();
	return found;
}

static __attribute__((noinline)) long crash(long n, const void *next)
{
	return *(volatile long *)next + n;
}

struct next { step code; const void *next; };

static struct jit_code_entry entries[2];

__attribute__((noinline, used)) long run(void)
{
	room = (char *)call6(MMAP, 0, 65536, 7, 0x22, -1, 0); /* read, write, execute; private, anonymous */
	step first = load(&entries[0]), second = load(&entries[1]);
	struct next last = {crash, 0}, begin = {first, &last};
	return second(2, &begin) + 1;
}

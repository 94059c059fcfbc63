/* Fails allocations of tokctl's native module, by their numbers.
 *
 * Loaded before the C library, so that malloc and its like, and mmap, are these. Calls from elsewhere
 * (Python, the C library itself) are never failed, and neither is one for as much as its thread has
 * freed just before, which malloc has at hand.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* Where the module's code lies, once it is loaded. */
static uintptr_t first, last;
/* The first allocation that fails, and how many do; how many there were, for other processes, too. */
static long nth = -1, failing, *counted;

static int find(struct dl_phdr_info *module, size_t size, void *data) {
    (void)size, (void)data;
    if (!strstr(module->dlpi_name, "_native"))
        return 0;
    for (int at = 0; at < module->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[at];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            first = module->dlpi_addr + part->p_vaddr;
            last = first + part->p_memsz;
        }
    }
    return 1;
}

/* From now on counts the module's allocations, of all threads, in `count`, and fails `many` of them
 * from the one with the number `from` on; -1: none. */
void fail_allocations(long from, long many, long *count) {
    dl_iterate_phdr(find, NULL);
    nth = from;
    failing = many;
    counted = count;
}

static int fails(const void *caller) {
    uintptr_t at = (uintptr_t)caller;
    if (!counted || at < first || at >= last)
        return 0;
    long number = __atomic_fetch_add(counted, 1, __ATOMIC_SEQ_CST);
    if (nth < 0 || number < nth || number - nth >= failing)
        return 0;
    errno = ENOMEM;
    return 1;
}

/* The room that this thread has freed last, if it has allocated nothing since. */
static __thread size_t freed;

/* Rooms are 16 bytes apart, and malloc gives small ones out again at once. */
static int is_at_hand(size_t size) {
    return size <= freed && freed < size + 16 && freed <= 1032;
}

void *malloc(size_t size) {
    int at_hand = is_at_hand(size);
    freed = 0;
    return fails(__builtin_return_address(0)) && !at_hand ? NULL : __libc_malloc(size);
}

void free(void *memory) {
    if (memory)
        freed = malloc_usable_size(memory);
    __libc_free(memory);
}

void *calloc(size_t count, size_t size) {
    freed = 0;
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    freed = 0;
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t align, size_t size) {
    freed = 0;
    if (fails(__builtin_return_address(0)))
        return ENOMEM;
    *memory = __libc_memalign(align, size);
    return *memory ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t size) {
    freed = 0;
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (fails(__builtin_return_address(0)))
        return MAP_FAILED;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "mmap");
    return real(at, size, protection, flags, file, offset);
}

// Label rows: codes by first appearance, and distinct rows. LABEL is the type of a label, VALUE that of a raw value.
// Every whole-number argument is a long long, so that the caller needs no table of types. Row numbers fit 32 bits.
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;

#define UNSEEN 0xffffffffu

// Write to first[starts[column] + value - low] the first row that holds the value in the column.
// The table of `size` entries is kept in shared memory if in_shared is not 0; first must hold UNSEEN.
extern "C" __global__ void first_rows(const VALUE* values, i64 n_rows, i64 width, i64 low, i64 span, i64 in_shared,
                                      u32* first) {
    extern __shared__ u32 mine[];
    u32* table = in_shared ? mine : first;
    const i64 size = width * span;
    if (in_shared) {
        for (i64 place = threadIdx.x; place < size; place += blockDim.x) mine[place] = UNSEEN;
        __syncthreads();
    }
    const i64 stride = (i64)gridDim.x * blockDim.x;
    const i64 row_step = stride / width, column_step = stride % width;
    i64 entry = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    i64 row = entry / width, column = entry % width;
    while (row < n_rows) {
        const i64 place = column * span + ((i64)values[row * width + column] - low);
        // rows are visited in increasing order, so that after the first few no write is needed
        if (((volatile u32*)table)[place] > (u32)row) atomicMin(&table[place], (u32)row);
        row += row_step;
        column += column_step;
        if (column >= width) { column -= width; ++row; }
    }
    if (in_shared) {
        __syncthreads();
        for (i64 place = threadIdx.x; place < size; place += blockDim.x)
            if (mine[place] != UNSEEN) atomicMin(&first[place], mine[place]);
    }
}

// Write codes[column * span + value - low] for each value; LABEL* coded may be the same array as values.
extern "C" __global__ void recode(const VALUE* values, i64 n_rows, i64 width, i64 low, i64 span, const int* codes,
                                  LABEL* coded) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    const i64 row_step = stride / width, column_step = stride % width;
    i64 entry = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    i64 row = entry / width, column = entry % width;
    while (row < n_rows) {
        const i64 place = row * width + column;
        coded[place] = (LABEL)codes[column * span + ((i64)values[place] - low)];
        row += row_step;
        column += column_step;
        if (column >= width) { column -= width; ++row; }
    }
}

__device__ __forceinline__ u64 mixed(u64 value, u64 word) {
    value = ((value << 5) | (value >> 59)) ^ (word + 1);
    return value * 0x9E3779B97F4A7C15ull;
}

__device__ __forceinline__ u64 hash_row(const unsigned char* bytes, i64 row, i64 row_bytes, u64 seed) {
    const unsigned char* start = bytes + row * row_bytes;
    u64 value = 0x9E3779B97F4A7C15ull ^ seed;
    if (row_bytes % 4 == 0) {
        const u32* words = (const u32*)start;
        for (i64 place = 0; place < row_bytes / 4; ++place) value = mixed(value, words[place]);
    } else {
        for (i64 place = 0; place < row_bytes; ++place) value = mixed(value, start[place]);
    }
    value = (value ^ (value >> 32)) * 0xD6E8FEB86659FD93ull;
    value ^= value >> 32;
    return value ? value : 1;  // 0 is an empty slot
}

__device__ __forceinline__ bool same_row(const unsigned char* bytes, i64 row, i64 other, i64 row_bytes) {
    const unsigned char *one = bytes + row * row_bytes, *two = bytes + other * row_bytes;
    if (row_bytes % 4 == 0) {
        for (i64 place = 0; place < row_bytes / 4; ++place)
            if (((const u32*)one)[place] != ((const u32*)two)[place]) return false;
        return true;
    }
    for (i64 place = 0; place < row_bytes; ++place)
        if (one[place] != two[place]) return false;
    return true;
}

// Put every row into a hash table of mask + 1 slots: keys (0 if empty) and the first row of each key.
// slots receives the slot of each row. Rows with equal hashes share a slot even if they differ: `number_rows` finds
// out. failed[0] is set if a row finds no slot within `patience` steps.
extern "C" __global__ void insert_rows(const unsigned char* bytes, i64 n_rows, i64 row_bytes, i64 seed, i64 mask,
                                       i64 patience, u64* keys, u32* first, u32* slots, u32* failed) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += stride) {
        const u64 hash = hash_row(bytes, row, row_bytes, (u64)seed);
        u64 slot = hash & (u64)mask;
        i64 steps = 0;
        for (; steps < patience; ++steps) {
            u64 key = ((volatile u64*)keys)[slot];
            if (key == 0) {
                key = atomicCAS(&keys[slot], 0ull, hash);
                if (key == 0) key = hash;
            }
            if (key == hash) break;
            slot = (slot + 1) & (u64)mask;
        }
        if (steps == patience) { failed[0] = 1; return; }
        slots[row] = (u32)slot;
        if (((volatile u32*)first)[slot] > (u32)row) atomicMin(&first[slot], (u32)row);
    }
}

// Mark the first row of every slot in use.
extern "C" __global__ void mark_firsts(const u64* keys, const u32* first, i64 n_slots, signed char* is_first) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 slot = (i64)blockIdx.x * blockDim.x + threadIdx.x; slot < n_slots; slot += stride)
        if (keys[slot]) is_first[first[slot]] = 1;
}

// Write to inverse the number of each row's distinct row, rank[first row] - 1, and add the row's count to counts_out.
// differs[0] is set if a row is not equal to the first row of its slot, that is if two hashes collided.
extern "C" __global__ void number_rows(const unsigned char* bytes, i64 n_rows, i64 row_bytes, const u32* slots,
                                       const u32* first, const int* rank, const i64* counts, int* inverse,
                                       u64* counts_out, u32* differs) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    const unsigned lane = threadIdx.x & 31;
    for (i64 start = (i64)blockIdx.x * blockDim.x; start < n_rows; start += stride) {
        const i64 row = start + threadIdx.x;
        const bool inside = row < n_rows;
        int number = -1;
        if (inside) {
            const i64 other = first[slots[row]];
            number = rank[other] - 1;
            inverse[row] = number;
            if (other != row && !same_row(bytes, row, other, row_bytes)) differs[0] = 1;
        }
        if (counts) {
            if (inside) atomicAdd(&counts_out[number], (u64)counts[row]);
        } else {
            // rows of one number within a warp are added together first, for few distinct rows would queue up
            const unsigned same = __match_any_sync(0xffffffffu, number);
            if (inside && lane == __ffs(same) - 1) atomicAdd(&counts_out[number], (u64)__popc(same));
        }
    }
}

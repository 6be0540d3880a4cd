// Look-ups of label rows in tables over base clusters, and the integer sums that such tables are made from.
// LABEL is the type of a label; TABLE that of the table that rows are looked up in. Sums of floats are never added by
// several threads, so that one seed has one answer. The compiler must not fuse multiplications and additions here:
// values must be those of the processor's kernels to the last bit.
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;
#define PART 8

#define EACH_ROW(row, n_rows)                                                                       \
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += (i64)gridDim.x * blockDim.x)

// Copy a table (n_entries, width) to shared memory, one word wider per row, so that the same column of different rows
// lies in different banks. Returns the table to read; stride receives the length of its rows.
template <typename T>
__device__ __forceinline__ const T* near_table(const T* table, i64 n_entries, i64 width, T* mine, i64* stride) {
    if (n_entries == 0) { *stride = width; return table; }
    for (i64 place = threadIdx.x; place < n_entries * width; place += blockDim.x)
        mine[place / width * (width + 1) + place % width] = table[place];
    __syncthreads();
    *stride = width + 1;
    return mine;
}

// The kernels below read a table of in_shared entries from shared memory, or from global memory if in_shared is 0.
// nearest[row] = argmin_c factor * bias[c] - scale[c] * sum of table[label, c], the lowest c in a tie.
// width, the number of columns of the table, is a multiple of PART.
extern "C" __global__ void look_up(const LABEL* labels, i64 n_rows, i64 n_members, const i64* offsets,
                                   const TABLE* table, i64 width, i64 in_shared, const double* scale,
                                   const double* bias, i64 n_clusters, const double* factor, i64 many, int* nearest,
                                   double* score) {
    extern __shared__ double space[];
    i64 stride;
    const TABLE* from = near_table(table, in_shared, width, (TABLE*)space, &stride);
    EACH_ROW(row, n_rows) {
        const double pull = factor[many ? row : 0];
        int best = 0;
        double least = __longlong_as_double(0x7ff0000000000000ll);
        for (i64 part = 0; part < n_clusters; part += PART) {
            TABLE total[PART] = {0};
            for (i64 member = 0; member < n_members; ++member) {
                const i64 label = labels[row * n_members + member];
                if (label >= 0) {
                    const TABLE* source = from + (offsets[member] + label) * stride + part;
#pragma unroll
                    for (int place = 0; place < PART; ++place) total[place] += source[place];
                }
            }
#pragma unroll
            for (int place = 0; place < PART; ++place) {
                const i64 cluster = part + place;
                if (cluster < n_clusters) {
                    const double value = pull * bias[cluster] - scale[cluster] * (double)total[place];
                    if (value < least) { best = (int)cluster; least = value; }
                }
            }
        }
        nearest[row] = best;
        score[row] = least;
    }
}

// Change table (d, width) and mass from those of the assignment `old` to those of `fresh`; -1 is no cluster. counts may
// be 0 (all ones).
extern "C" __global__ void move_rows(const LABEL* labels, i64 n_rows, i64 n_members, const i64* offsets,
                                     const i64* counts, const i64* masses, const int* old, const int* fresh,
                                     i64 width, u64* table, u64* mass, u64* moved) {
    u64 n_moved = 0;
    EACH_ROW(row, n_rows) {
        const int source = old[row], target = fresh[row];
        if (source == target) continue;
        ++n_moved;
        const u64 count = counts ? (u64)counts[row] : 1ull, weight = masses ? (u64)masses[row] : count;
        if (target >= 0) atomicAdd(&mass[target], weight);
        if (source >= 0) atomicAdd(&mass[source], 0ull - weight);
        for (i64 member = 0; member < n_members; ++member) {
            const i64 label = labels[row * n_members + member];
            if (label >= 0) {
                u64* place = table + (offsets[member] + label) * width;
                if (target >= 0) atomicAdd(&place[target], count);
                if (source >= 0) atomicAdd(&place[source], 0ull - count);
            }
        }
    }
    for (int step = 16; step; step >>= 1) n_moved += __shfl_down_sync(0xffffffffu, n_moved, step);
    if ((threadIdx.x & 31) == 0 && n_moved) atomicAdd(moved, n_moved);
}

// The table's sum for the row's own cluster, the largest over other clusters (0 if none), and which that is (-1: none).
extern "C" __global__ void own_and_rival(const LABEL* labels, i64 n_rows, i64 n_members, const i64* offsets,
                                         const TABLE* table, i64 width, i64 in_shared, i64 n_clusters,
                                         const int* assignment, double* own, double* rival, int* runner_up) {
    extern __shared__ double space[];
    i64 stride;
    const TABLE* from = near_table(table, in_shared, width, (TABLE*)space, &stride);
    EACH_ROW(row, n_rows) {
        const int mine = assignment[row];
        double best = 0.0, sum_own = 0.0;
        int other = -1;
        for (i64 part = 0; part < n_clusters; part += PART) {
            double total[PART] = {0};
            for (i64 member = 0; member < n_members; ++member) {
                const i64 label = labels[row * n_members + member];
                if (label >= 0) {
                    const TABLE* source = from + (offsets[member] + label) * stride + part;
#pragma unroll
                    for (int place = 0; place < PART; ++place) total[place] += source[place];
                }
            }
#pragma unroll
            for (int place = 0; place < PART; ++place) {
                const int cluster = (int)part + place;
                if (cluster == mine) sum_own = total[place];
                else if (cluster < n_clusters && total[place] > best) { best = total[place]; other = cluster; }
            }
        }
        own[row] = sum_own;
        rival[row] = best;
        runner_up[row] = other;
    }
}

// The sum of weights[label] over the members of each row, in the order of the members.
extern "C" __global__ void row_sums(const LABEL* labels, i64 n_rows, i64 n_members, const i64* offsets,
                                    const TABLE* weights, TABLE* sums) {
    EACH_ROW(row, n_rows) {
        TABLE total = 0;
        for (i64 member = 0; member < n_members; ++member) {
            const i64 label = labels[row * n_members + member];
            if (label >= 0) total += weights[offsets[member] + label];
        }
        sums[row] = total;
    }
}

// Add mass[row] to table[f, g] for every two base clusters f, g of a row, the member of f not after that of g.
extern "C" __global__ void add_pairs(const LABEL* labels, i64 n_rows, i64 n_members, const i64* offsets,
                                     const i64* mass, i64 n_clusters, u64* table) {
    EACH_ROW(row, n_rows) {
        const LABEL* mine = labels + row * n_members;
        const u64 weight = (u64)mass[row];
        for (i64 one = 0; one < n_members; ++one) {
            if (mine[one] < 0) continue;
            u64* target = table + (offsets[one] + mine[one]) * n_clusters;
            for (i64 two = one; two < n_members; ++two)
                if (mine[two] >= 0) atomicAdd(&target[offsets[two] + mine[two]], weight);
        }
    }
}

// points (n_columns, n_rows): the sum of table[label] over the members of a row, scaled to length 1.
extern "C" __global__ void unit_sums(const LABEL* labels, i64 n_rows, i64 n_members, const i64* offsets,
                                     const double* table, i64 width, i64 in_shared, i64 n_columns, double* points) {
    extern __shared__ double space[];
    i64 stride;
    const double* from = near_table(table, in_shared, width, space, &stride);
    EACH_ROW(row, n_rows) {
        double length = 0.0;
        for (i64 part = 0; part < n_columns; part += PART) {
            double total[PART] = {0};
            for (i64 member = 0; member < n_members; ++member) {
                const i64 label = labels[row * n_members + member];
                if (label >= 0) {
                    const double* source = from + (offsets[member] + label) * stride + part;
#pragma unroll
                    for (int place = 0; place < PART; ++place) total[place] += source[place];
                }
            }
#pragma unroll
            for (int place = 0; place < PART; ++place)
                if (part + place < n_columns) {
                    length += total[place] * total[place];
                    points[(part + place) * n_rows + row] = total[place];
                }
        }
        const double scale = length > 0.0 ? 1.0 / sqrt(length) : 0.0;
        for (i64 column = 0; column < n_columns; ++column) points[column * n_rows + row] *= scale;
    }
}

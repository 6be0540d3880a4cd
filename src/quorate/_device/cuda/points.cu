// k-means of points of few dimensions in float64; points are (n_columns, n_rows), so that neighbouring threads read
// neighbouring words. Sums over points are whole numbers of 1 / unit: they do not depend on any order.
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;
#define PART 16

#define EACH_ROW(row, n_rows)                                                                       \
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += (i64)gridDim.x * blockDim.x)

// The nearest of the centres (n_centres, n_columns), the lowest in a tie, and its squared distance.
extern "C" __global__ void nearest_points(const double* points, i64 n_rows, i64 n_columns, const double* centres,
                                          i64 n_centres, int* nearest, double* distance) {
    EACH_ROW(row, n_rows) {
        int best = 0;
        double least = __longlong_as_double(0x7ff0000000000000ll);
        for (i64 part = 0; part < n_centres; part += PART) {
            double squared[PART] = {0};
            for (i64 column = 0; column < n_columns; ++column) {
                const double value = points[column * n_rows + row];
#pragma unroll
                for (int place = 0; place < PART; ++place) {
                    const i64 centre = part + place < n_centres ? part + place : n_centres - 1;
                    const double difference = value - centres[centre * n_columns + column];
                    squared[place] += difference * difference;
                }
            }
#pragma unroll
            for (int place = 0; place < PART; ++place)
                if (part + place < n_centres && squared[place] < least) {
                    best = (int)part + place;
                    least = squared[place];
                }
        }
        nearest[row] = best;
        distance[row] = least;
    }
}

// Change sums (n_centres, n_columns), in whole numbers of 1 / unit, and sizes from those of the labels `old` to those
// of `fresh`.
extern "C" __global__ void move_points(const double* points, i64 n_rows, i64 n_columns, const i64* counts, double unit,
                                       const int* old, const int* fresh, u64* sums, u64* sizes, u64* moved) {
    u64 n_moved = 0;
    EACH_ROW(row, n_rows) {
        const int source = old[row], target = fresh[row];
        if (source == target) continue;
        ++n_moved;
        const i64 count = counts[row];
        atomicAdd(&sizes[target], (u64)count);
        if (source >= 0) atomicAdd(&sizes[source], 0ull - (u64)count);
        for (i64 column = 0; column < n_columns; ++column) {
            const u64 value = (u64)__double2ll_rn(points[column * n_rows + row] * (double)count * unit);
            atomicAdd(&sums[target * n_columns + column], value);
            if (source >= 0) atomicAdd(&sums[source * n_columns + column], 0ull - value);
        }
    }
    for (int step = 16; step; step >>= 1) n_moved += __shfl_down_sync(0xffffffffu, n_moved, step);
    if ((threadIdx.x & 31) == 0 && n_moved) atomicAdd(moved, n_moved);
}

// Add all points to sums and sizes, both zero before: thread t of a block adds up the entries t, t + blockDim.x, ... of
// sums (n_centres, n_columns) over the rows of the block, so that no two threads of a block write to one place.
// n_centres * n_columns is at most 4 * blockDim.x; shared memory holds TILE rows: values, counts and labels.
#define TILE 64
extern "C" __global__ void add_all_points(const double* points, i64 n_rows, i64 n_columns, const i64* counts,
                                          double unit, const int* labels, i64 n_centres, i64 rows_each, u64* sums,
                                          u64* sizes) {
    extern __shared__ i64 values[];
    i64* tile_counts = values + TILE * n_columns;
    int* tile_labels = (int*)(tile_counts + TILE);
    i64 total[4] = {0, 0, 0, 0}, size = 0;
    const i64 first = (i64)blockIdx.x * rows_each, last = first + rows_each < n_rows ? first + rows_each : n_rows;
    const int n_entries = (int)(n_centres * n_columns);
    for (i64 start = first; start < last; start += TILE) {
        const int n_here = (int)(last - start < TILE ? last - start : TILE);
        __syncthreads();
        for (int place = threadIdx.x; place < n_here; place += blockDim.x) {
            tile_counts[place] = counts[start + place];
            tile_labels[place] = labels[start + place];
        }
        __syncthreads();
        for (int place = threadIdx.x; place < TILE * (int)n_columns; place += blockDim.x) {
            const int column = place / TILE, row = place % TILE;
            if (row < n_here)
                values[row * n_columns + column] =
                    __double2ll_rn(points[column * n_rows + start + row] * (double)tile_counts[row] * unit);
        }
        __syncthreads();
#pragma unroll
        for (int part = 0; part < 4; ++part) {
            const int entry = threadIdx.x + part * blockDim.x;
            if (entry < n_entries) {
                const int centre = entry / (int)n_columns, column = entry % (int)n_columns;
                for (int row = 0; row < n_here; ++row)
                    if (tile_labels[row] == centre) total[part] += values[row * n_columns + column];
            }
        }
        if (threadIdx.x < n_centres)
            for (int row = 0; row < n_here; ++row)
                if (tile_labels[row] == threadIdx.x) size += tile_counts[row];
    }
#pragma unroll
    for (int part = 0; part < 4; ++part) {
        const int entry = threadIdx.x + part * blockDim.x;
        if (entry < n_entries && total[part]) atomicAdd(&sums[entry], (u64)total[part]);
    }
    if (threadIdx.x < n_centres && size) atomicAdd(&sizes[threadIdx.x], (u64)size);
}

// spread[row] = counts[row] times the squared distance of the row to its centre.
extern "C" __global__ void own_distances(const double* points, i64 n_rows, i64 n_columns, const i64* counts,
                                         const double* centres, const int* labels, double* spread) {
    EACH_ROW(row, n_rows) {
        double squared = 0.0;
        for (i64 column = 0; column < n_columns; ++column) {
            const double difference = points[column * n_rows + row] - centres[labels[row] * n_columns + column];
            squared += difference * difference;
        }
        spread[row] = (double)counts[row] * squared;
    }
}

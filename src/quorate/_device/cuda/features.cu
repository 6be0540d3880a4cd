// Feature rows: facts about columns, prepared rows, nearest centres, and the labels of landmark-spectral members.
// VALUE is the type of a feature, LABEL that of a label, DIMS the number of columns of a member, padded with zeros to
// a multiple of 4, ROWS the number of rows of one thread. Distances add up d * d by fused operations in the order of
// the columns, as the processor's kernels do, so that equal prepared rows have equal distances.
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;

// Sum, lowest and highest value of each column over blocks of rows_each rows; outputs are (n_blocks, n_columns).
// blockDim.x is 256; block (x, y) reads rows x * rows_each onwards and columns y * 256 onwards.
extern "C" __global__ void column_facts(const VALUE* rows, i64 n_rows, i64 n_columns, i64 rows_each, double* sums,
                                        double* lows, double* highs) {
    __shared__ double part[3][256];
    const i64 first_column = (i64)blockIdx.y * 256;
    const i64 width = n_columns - first_column < 256 ? n_columns - first_column : 256;
    const i64 lanes = 256 / width, lane = threadIdx.x / width, column = threadIdx.x % width;
    double sum = 0.0, low = __longlong_as_double(0x7ff0000000000000ll), high = -low;
    if (lane < lanes) {
        const i64 start = (i64)blockIdx.x * rows_each, stop = start + rows_each < n_rows ? start + rows_each : n_rows;
        for (i64 row = start + lane; row < stop; row += lanes) {
            const double value = (double)rows[row * n_columns + first_column + column];
            sum += value;
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
    }
    part[0][threadIdx.x] = sum;
    part[1][threadIdx.x] = low;
    part[2][threadIdx.x] = high;
    __syncthreads();
    if (lane == 0) {
        for (i64 other = 1; other < lanes; ++other) {
            const i64 place = other * width + column;
            sum += part[0][place];
            low = part[1][place] < low ? part[1][place] : low;
            high = part[2][place] > high ? part[2][place] : high;
        }
        const i64 place = (i64)blockIdx.x * n_columns + first_column + column;
        sums[place] = sum;
        lows[place] = low;
        highs[place] = high;
    }
}

__device__ __forceinline__ float prepared(VALUE value, double shift, double scale) {
    return (float)(((double)value - shift) * scale);
}

// Write the prepared rows with the given numbers (all rows in order from `start` if numbers is 0), shifted and scaled.
// out is (n, n_out), or (n_out, n) if transposed is not 0. A projection by matrix (n_columns, n_out) is added up in
// float64; otherwise `columns` are the columns to take.
extern "C" __global__ void prepare_rows(const VALUE* rows, i64 n_columns, const i64* numbers, i64 start, i64 n,
                                        const int* columns, i64 n_out, const double* shift, double scale,
                                        const double* matrix, i64 transposed, float* out) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 entry = (i64)blockIdx.x * blockDim.x + threadIdx.x; entry < n * n_out; entry += stride) {
        const i64 place = entry / n_out, column = entry % n_out;
        const VALUE* row = rows + (numbers ? numbers[place] : start + place) * n_columns;
        float value;
        if (matrix) {
            double total = 0.0;
            for (i64 source = 0; source < n_columns; ++source)
                total += ((double)row[source] - shift[source]) * scale * matrix[source * n_out + column];
            value = (float)total;
        } else {
            const i64 source = columns[column];
            value = prepared(row[source], shift[source], scale);
        }
        out[transposed ? column * n + place : entry] = value;
    }
}

#ifdef DIMS
// Read one row into registers; columns beyond `n_used` are zeros.
__device__ __forceinline__ void read_row(const VALUE* row, const int* columns, i64 n_used, const double* shift,
                                         double scale, float* x) {
#ifdef WHOLE_ROWS
    // all columns, a multiple of four float32 values: 16 bytes at a time
#pragma unroll
    for (int four = 0; four < DIMS / 4; ++four) {
        const float4 values = ((const float4*)row)[four];
        x[4 * four] = prepared(values.x, shift[4 * four], scale);
        x[4 * four + 1] = prepared(values.y, shift[4 * four + 1], scale);
        x[4 * four + 2] = prepared(values.z, shift[4 * four + 2], scale);
        x[4 * four + 3] = prepared(values.w, shift[4 * four + 3], scale);
    }
#else
#pragma unroll
    for (int column = 0; column < DIMS; ++column)
        x[column] = column < n_used ? prepared(row[columns[column]], shift[columns[column]], scale) : 0.0f;
#endif
}

// Write to labels[row * stride + places[q]] the nearest centre of member q, the lowest in a tie.
// The centres of member q are starts[q] .. starts[q + 1] - 1 of (n_centres, DIMS); per_tile of them are in shared
// memory at a time. No distance ever leaves a register.
extern "C" __global__ void __launch_bounds__(128)
nearest_centres(const VALUE* rows, i64 n_rows, i64 n_columns, const int* columns, i64 n_used, const double* shift,
                double scale, const float4* centres, const int* starts, i64 n_members, i64 per_tile,
                const int* places, LABEL* labels, i64 stride) {
    extern __shared__ float4 tile[];
    const i64 base = (i64)blockIdx.x * blockDim.x * ROWS + threadIdx.x;
    float x[ROWS][DIMS], least[ROWS];
    int best[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const i64 row = base + (i64)r * blockDim.x;
        read_row(rows + (row < n_rows ? row : n_rows - 1) * n_columns, columns, n_used, shift, scale, x[r]);
    }
    const int total = starts[n_members];
    int member = 0;
    for (int first = 0; first < total; first += (int)per_tile) {
        const int last = first + (int)per_tile < total ? first + (int)per_tile : total;
        __syncthreads();
        for (int place = threadIdx.x; place < (last - first) * (DIMS / 4); place += blockDim.x)
            tile[place] = centres[(i64)first * (DIMS / 4) + place];
        __syncthreads();
        int centre = first;
        while (centre < last) {
            const int start = starts[member], stop = starts[member + 1], end = stop < last ? stop : last;
            if (centre == start) {
#pragma unroll
                for (int r = 0; r < ROWS; ++r) { least[r] = __int_as_float(0x7f800000); best[r] = 0; }
            }
            for (; centre < end; ++centre) {
                const float4* values = tile + (centre - first) * (DIMS / 4);
                float distance[ROWS] = {0};
#pragma unroll
                for (int four = 0; four < DIMS / 4; ++four) {
                    const float4 c = values[four];
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) {
                        const float d0 = x[r][4 * four] - c.x, d1 = x[r][4 * four + 1] - c.y;
                        const float d2 = x[r][4 * four + 2] - c.z, d3 = x[r][4 * four + 3] - c.w;
                        distance[r] = fmaf(d3, d3, fmaf(d2, d2, fmaf(d1, d1, fmaf(d0, d0, distance[r]))));
                    }
                }
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    if (distance[r] < least[r]) { least[r] = distance[r]; best[r] = centre - start; }
            }
            if (centre == stop) {
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const i64 row = base + (i64)r * blockDim.x;
                    if (row < n_rows) labels[row * stride + places[member]] = (LABEL)best[r];
                }
                ++member;
            }
        }
    }
}
#endif

// The same for rows of any width, prepared before as (n_columns, n_rows): the labels of rows row_start onwards.
extern "C" __global__ void nearest_centres_wide(const float* rows, i64 n_rows, i64 n_columns, const float* centres,
                                                const int* starts, i64 n_members, const int* places, LABEL* labels,
                                                i64 stride, i64 row_start) {
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += step) {
        for (i64 member = 0; member < n_members; ++member) {
            float least = __int_as_float(0x7f800000);
            int best = 0;
            for (int part = starts[member]; part < starts[member + 1]; part += 8) {
                float distance[8] = {0};
                for (i64 column = 0; column < n_columns; ++column) {
                    const float value = rows[column * n_rows + row];
#pragma unroll
                    for (int place = 0; place < 8; ++place) {
                        const int centre = part + place < starts[member + 1] ? part + place : starts[member + 1] - 1;
                        const float difference = value - centres[(i64)centre * n_columns + column];
                        distance[place] = fmaf(difference, difference, distance[place]);
                    }
                }
#pragma unroll
                for (int place = 0; place < 8; ++place)
                    if (part + place < starts[member + 1] && distance[place] < least) {
                        least = distance[place];
                        best = part + place - starts[member];
                    }
            }
            labels[(row_start + row) * stride + places[member]] = (LABEL)best;
        }
    }
}

#ifdef NEAR
#define GRID 1024.0
__device__ __forceinline__ float squared_distance(const float* x, const float* other) {
    float total = 0.0f;
#pragma unroll
    for (int four = 0; four < DIMS / 4; ++four) {
        const float4 c = ((const float4*)other)[four];
        const float d0 = x[4 * four] - c.x, d1 = x[4 * four + 1] - c.y;
        const float d2 = x[4 * four + 2] - c.z, d3 = x[4 * four + 3] - c.w;
        total = fmaf(d3, d3, fmaf(d2, d2, fmaf(d1, d1, fmaf(d0, d0, total))));
    }
    return total;
}

// Insert a landmark into the sorted lists; equal distances keep their order.
__device__ __forceinline__ void place_landmark(int* near, float* squared, int landmark, float value) {
    if (!(value < squared[NEAR - 1])) return;
    squared[NEAR - 1] = value;
    near[NEAR - 1] = landmark;
#pragma unroll
    for (int place = NEAR - 1; place > 0; --place)
        if (squared[place] < squared[place - 1]) {
            const float least = squared[place];
            const int number = near[place];
            squared[place] = squared[place - 1];
            near[place] = near[place - 1];
            squared[place - 1] = least;
            near[place - 1] = number;
        }
}

// The label of each row by a landmark-spectral member: nearest landmarks, their weighted point, its nearest centre.
// landmarks (p, DIMS); groups (n_groups, DIMS), of which group j holds landmarks starts[j] .. starts[j + 1] - 1;
// around (p, n_around); table (p, VECTORS) float64 and centres (n_centres, VECTORS), padded with zeros. n_groups 0
// compares every landmark. The weight of a link is exp(factor * squared distance), at least 1e-8.
extern "C" __global__ void __launch_bounds__(128)
label_by_landmarks(const VALUE* rows, i64 n_rows, i64 n_columns, const int* columns, i64 n_used, const double* shift,
                   double scale, const float* landmarks, i64 n_landmarks, const float* groups, i64 n_groups,
                   const int* starts, const int* around, i64 n_around, double factor, const double* table,
                   const float4* centres, i64 n_centres, LABEL* labels, i64 stride) {
    extern __shared__ float4 own_centres[];
    for (int place = threadIdx.x; place < n_centres * (VECTORS / 4); place += blockDim.x)
        own_centres[place] = centres[place];
    __syncthreads();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += step) {
        float x[DIMS], squared[NEAR], weight[NEAR], point[VECTORS];
        int near[NEAR];
        read_row(rows + row * n_columns, columns, n_used, shift, scale, x);
#pragma unroll
        for (int place = 0; place < NEAR; ++place) { squared[place] = __int_as_float(0x7f800000); near[place] = 0; }
        if (n_groups == 0) {
            for (int landmark = 0; landmark < n_landmarks; ++landmark)
                place_landmark(near, squared, landmark, squared_distance(x, landmarks + (i64)landmark * DIMS));
        } else {
            int group = 0;
            float least = __int_as_float(0x7f800000);
            for (int other = 0; other < n_groups; ++other) {
                const float value = squared_distance(x, groups + (i64)other * DIMS);
                if (value < least) { group = other; least = value; }
            }
            int best = starts[group];
            least = __int_as_float(0x7f800000);
            for (int landmark = starts[group]; landmark < starts[group + 1]; ++landmark) {
                const float value = squared_distance(x, landmarks + (i64)landmark * DIMS);
                if (value < least) { best = landmark; least = value; }
            }
            for (int place = 0; place < n_around; ++place) {
                const int landmark = around[(i64)best * n_around + place];
                place_landmark(near, squared, landmark, squared_distance(x, landmarks + (i64)landmark * DIMS));
            }
        }
        double length = 0.0;
#pragma unroll
        for (int place = 0; place < NEAR; ++place) {
            const double value = exp(factor * (double)squared[place]);
            weight[place] = (float)(value > 1e-8 ? value : 1e-8);
        }
        for (int column = 0; column < VECTORS; ++column) {
            double total = 0.0;
#pragma unroll
            for (int place = 0; place < NEAR; ++place)
                total += (double)weight[place] * table[(i64)near[place] * VECTORS + column];
            length += total * total;
        }
        const double unit = length > 0.0 ? 1.0 / sqrt(length) : 0.0;
#pragma unroll
        for (int column = 0; column < VECTORS; ++column) {
            double total = 0.0;
#pragma unroll
            for (int place = 0; place < NEAR; ++place)
                total += (double)weight[place] * table[(i64)near[place] * VECTORS + column];
            // as on the processor, coordinates are multiples of 1 / GRID
            point[column] = (float)(floor(total * unit * GRID + 0.5) / GRID);
        }
        float least = __int_as_float(0x7f800000);
        int best = 0;
        for (int centre = 0; centre < n_centres; ++centre) {
            const float4* values = own_centres + centre * (VECTORS / 4);
            float distance = 0.0f;
#pragma unroll
            for (int four = 0; four < VECTORS / 4; ++four) {
                const float4 c = values[four];
                const float d0 = point[4 * four] - c.x, d1 = point[4 * four + 1] - c.y;
                const float d2 = point[4 * four + 2] - c.z, d3 = point[4 * four + 3] - c.w;
                distance = fmaf(d3, d3, fmaf(d2, d2, fmaf(d1, d1, fmaf(d0, d0, distance))));
            }
            if (distance < least) { least = distance; best = centre; }
        }
        labels[row * stride] = (LABEL)best;
    }
}
#endif

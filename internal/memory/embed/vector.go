package embed

import "math"

// MaxDimensions bounds the vectors that are kept. The largest of known models have 4096.
const MaxDimensions = 8192

// Vector is a direction, with a signed byte for each dimension; multiplied by Scale they have unit length.
type Vector struct {
	Scale  float32
	Values []int8
}

// Quantize scales a vector to unit length and rounds it to bytes. It returns false for a vector without a direction: with no or more than
// MaxDimensions dimensions, all zeros, or with a NaN or an infinity.
func Quantize(v []float32) (Vector, bool) {
	if len(v) == 0 || len(v) > MaxDimensions {
		return Vector{}, false
	}
	var square, highest float64
	for _, x := range v {
		square += float64(x) * float64(x)
		highest = max(highest, math.Abs(float64(x)))
	}
	if !(highest > 0) || math.IsInf(square, 0) || math.IsNaN(square) {
		return Vector{}, false
	}
	out := Vector{Scale: float32(highest / 127 / math.Sqrt(square)), Values: make([]int8, len(v))}
	if !(out.Scale > 0) {
		return Vector{}, false
	}
	for i, x := range v {
		out.Values[i] = int8(math.Round(float64(x) / highest * 127))
	}
	return out, true
}

// Cosine returns the similarity of two vectors, from -1 to 1 within the precision of bytes; 0 when they have different dimensions.
func (v Vector) Cosine(w Vector) float32 {
	if len(v.Values) != len(w.Values) {
		return 0
	}
	return float32(dot(v.Values, w.Values)) * v.Scale * w.Scale
}

// dot returns the scalar product: at most 127² in each of MaxDimensions, which fits into 32 bits. Four sums beside each other keep the
// processor busy, and an array of 16 needs one bounds check.
func dot(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	for len(a) >= 16 && len(b) >= 16 {
		x, y := (*[16]int8)(a), (*[16]int8)(b)
		s0 += int32(x[0])*int32(y[0]) + int32(x[4])*int32(y[4]) + int32(x[8])*int32(y[8]) + int32(x[12])*int32(y[12])
		s1 += int32(x[1])*int32(y[1]) + int32(x[5])*int32(y[5]) + int32(x[9])*int32(y[9]) + int32(x[13])*int32(y[13])
		s2 += int32(x[2])*int32(y[2]) + int32(x[6])*int32(y[6]) + int32(x[10])*int32(y[10]) + int32(x[14])*int32(y[14])
		s3 += int32(x[3])*int32(y[3]) + int32(x[7])*int32(y[7]) + int32(x[11])*int32(y[11]) + int32(x[15])*int32(y[15])
		a, b = a[16:], b[16:]
	}
	for i := range min(len(a), len(b)) {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// Package repeat notices that a model goes round in circles.
package repeat

package secrets

import "reflect"

// Masked returns v with credentials in its texts masked, as [Text] and [Values.Hide] do, at any depth. It returns v itself where there are
// none.
func Masked[T any](values *Values, v T) T {
	from := reflect.ValueOf(&v).Elem()
	to, changed := values.mask(from)
	if !changed {
		return v
	}
	return to.Interface().(T)
}

func (known *Values) mask(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		safe := text
		if Suspicious([]byte(text)) {
			safe = Text(text)
		}
		safe = known.hide(safe)
		if safe == text {
			return v, false
		}
		to := reflect.New(v.Type()).Elem()
		to.SetString(safe)
		return to, true
	case reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		inner, changed := known.mask(v.Elem())
		if !changed {
			return v, false
		}
		to := reflect.New(v.Type()).Elem()
		to.Set(inner)
		return to, true
	case reflect.Struct:
		var to reflect.Value
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			inner, changed := known.mask(v.Field(i))
			if !changed {
				continue
			}
			if !to.IsValid() {
				to = reflect.New(v.Type()).Elem()
				to.Set(v)
			}
			to.Field(i).Set(inner)
		}
		return to, to.IsValid()
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.String && k != reflect.Struct {
			return v, false
		}
		var to reflect.Value
		for i := range v.Len() {
			inner, changed := known.mask(v.Index(i))
			if !changed {
				continue
			}
			if !to.IsValid() {
				to = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
				reflect.Copy(to, v)
			}
			to.Index(i).Set(inner)
		}
		return to, to.IsValid()
	}
	return v, false
}

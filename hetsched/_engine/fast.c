/* The fast path from Python for small operands: products that NumPy multiplies, and the operators
 * and ufuncs of hetsched's Array. A call costs a tenth of a microsecond here, where Python's own
 * tests take more than one. The usual case is recognised by types and flags and passed on to NumPy;
 * all other cases are left to the functions in Python. Without this module results are the same
 * but take longer. The module does not link the engine. */
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

/* Written at import and by `array_type`, both under the interpreter's lock; read by every call. */
static struct {
    PyTypeObject *array; /* hetsched's Array; NULL until it is made */
    /* the general implementation of Array.__array_ufunc__: a function in Python */
    PyObject *ufunc;
    /* its attribute SMALL is the largest number of multiply-adds of a small product */
    PyObject *limits;
    int watched;      /* products are being counted: all are left to `ufunc` */
    int retypes;      /* a plain array can become an Array in place */
    PyObject *matmul; /* numpy.matmul */
    PyObject *small, *automatic, *once; /* "SMALL", "auto" and "once", interned */
} known;

/* ---- arrays ---------------------------------------------------------------------------------- */

static int is_plain(PyObject *x) { return Py_TYPE(x) == &PyArray_Type; }
static int is_ours(PyObject *x) { return Py_TYPE(x) == known.array; }

/* Returns whether x is a plain array, an Array or a number, of exactly these types, so that no
 * other class has to be asked what an operator does with x. */
static int is_usual(PyObject *x)
{
    const PyTypeObject *type = Py_TYPE(x);
    return type == &PyArray_Type || type == known.array || type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type ||
           type == &PyComplex_Type || type == &PyDoubleArrType_Type;
}

/* Returns a view of an array as one of the given type; NULL with an error set. */
static PyObject *view_as(PyTypeObject *type, PyObject *array) { return PyArray_View((PyArrayObject *)array, NULL, type); }

/* Returns a new reference to a plain view of an Array, or to x itself; NULL with an error set. */
static PyObject *plain(PyObject *x)
{
    if (is_ours(x)) return view_as(&PyArray_Type, x);
    Py_INCREF(x);
    return x;
}

/* Returns a result as an Array if it is a plain array, else unchanged, also if it is NULL; takes
 * its reference. An array with no other reference is retyped: a view would be a second object, and
 * its creation and deletion take as long as the rest of a small sum. */
static PyObject *ours(PyObject *result)
{
    if (!result || !is_plain(result)) return result;
    if (known.retypes && Py_REFCNT(result) == 1) {
        /* objects hold a reference to their type unless it is static */
        Py_INCREF((PyObject *)known.array);
        Py_SET_TYPE(result, known.array);
        return result;
    }
    PyObject *view = view_as(known.array, result);
    Py_DECREF(result);
    return view;
}

/* Does the same for the arrays of a tuple, which ufuncs with several results return. */
static PyObject *all_ours(PyObject *result)
{
    if (!result || !PyTuple_CheckExact(result)) return ours(result);
    const Py_ssize_t count = PyTuple_Size(result);
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject *x = PyTuple_GetItem(result, i);
        Py_INCREF(x);
        x = ours(x);
        if (!x || PyTuple_SetItem(found, i, x)) Py_CLEAR(found);
    }
    Py_DECREF(result);
    return found;
}

/* Returns the multiply-adds of a product of two matrices or vectors (plain or Arrays) with matching
 * shapes; -1 for anything else. */
static double multiply_adds(PyObject *v, PyObject *w)
{
    if (!(is_plain(v) || is_ours(v)) || !(is_plain(w) || is_ours(w))) return -1.0;
    PyArrayObject *a = (PyArrayObject *)v, *b = (PyArrayObject *)w;
    const int p = PyArray_NDIM(a), q = PyArray_NDIM(b);
    if (p < 1 || p > 2 || q < 1 || q > 2 || PyArray_DIM(a, p - 1) != PyArray_DIM(b, 0)) return -1.0;
    return (p == 2 ? (double)PyArray_DIM(a, 0) : 1.0) * (double)PyArray_DIM(b, 0) * (q == 2 ? (double)PyArray_DIM(b, 1) : 1.0);
}

/* Returns whether the product of v and w is small, so that NumPy computes it: 0, 1, or -1 with an
 * error set. */
static int is_small(PyObject *v, PyObject *w)
{
    const double work = multiply_adds(v, w);
    if (work < 0.0 || known.watched) return 0;
    PyObject *most = PyObject_GetAttr(known.limits, known.small);
    const double limit = most ? PyFloat_AsDouble(most) : -1.0;
    Py_XDECREF(most);
    return limit == -1.0 && PyErr_Occurred() ? -1 : work <= limit;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Applies numpy.ndarray's implementation of an operator, with plain arrays in place of Arrays; both
 * operands are usual. */
static PyObject *usual(PyObject *v, PyObject *w, binaryfunc own)
{
    PyObject *a = plain(v), *b = a ? plain(w) : NULL;
    PyObject *result = b ? own(a, b) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return all_ours(result);
}

/* Returns whether w is of a subclass of ndarray other than Array, while v is an Array or of a class
 * derived from it. Such a w is asked first, as it is beside a plain array, where Python does so
 * because the class of w is a subclass of the array's type. */
static int is_overruled(PyObject *v, PyObject *w)
{
    return PyObject_TypeCheck(v, known.array) && PyArray_Check(w) && !is_plain(w) && !is_ours(w);
}

/* v op w with an Array, or an object of a derived class, on one side: `own` is ndarray's operator,
 * `any` Python's. */
static PyObject *binary(PyObject *v, PyObject *w, binaryfunc own, binaryfunc any)
{
    if (is_usual(v) && is_usual(w)) return usual(v, w, own);
    if (!is_overruled(v, w)) return own(v, w);
    PyObject *a = view_as(&PyArray_Type, v);
    PyObject *result = a ? any(a, w) : NULL;
    Py_XDECREF(a);
    return result;
}

/* v op= w. */
static PyObject *in_place(PyObject *v, PyObject *w, binaryfunc own)
{
    if (!is_ours(v) || !is_usual(w)) return own(v, w);
    PyObject *a = plain(v), *b = a ? plain(w) : NULL;
    PyObject *result = b ? own(a, b) : NULL;
    if (result && result == a) {
        Py_DECREF(result);
        Py_INCREF(v);
        result = v;
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
    return ours(result);
}

/* op v. */
static PyObject *unary(PyObject *v, unaryfunc own)
{
    if (!is_ours(v)) return own(v);
    PyObject *a = plain(v);
    PyObject *result = a ? own(a) : NULL;
    Py_XDECREF(a);
    return ours(result);
}

#define BINARIES(X)                                                                                                                  \
    X(add, Add) X(subtract, Subtract) X(multiply, Multiply) X(true_divide, TrueDivide) X(floor_divide, FloorDivide)                   \
    X(remainder, Remainder) X(divmod, Divmod) X(lshift, Lshift) X(rshift, Rshift) X(and, And) X(or, Or) X(xor, Xor)
#define IN_PLACE(X) X(inplace_add) X(inplace_subtract) X(inplace_multiply) X(inplace_true_divide)
#define UNARIES(X) X(negative) X(positive) X(absolute) X(invert)

/* ndarray's own slots */
static struct {
#define X(name, ...) binaryfunc name##_slot;
    BINARIES(X) IN_PLACE(X) X(matrix_multiply)
#undef X
#define X(name) unaryfunc name##_slot;
    UNARIES(X)
#undef X
    ternaryfunc power;
    richcmpfunc compare;
} own;

#define X(name, function) \
    static PyObject *array_##name(PyObject *v, PyObject *w) { return binary(v, w, own.name##_slot, PyNumber_##function); }
BINARIES(X)
#undef X
#define X(name) static PyObject *array_##name(PyObject *v, PyObject *w) { return in_place(v, w, own.name##_slot); }
IN_PLACE(X)
#undef X
#define X(name) static PyObject *array_##name(PyObject *v) { return unary(v, own.name##_slot); }
UNARIES(X)
#undef X

static PyObject *own_power(PyObject *v, PyObject *w) { return own.power(v, w, Py_None); }
static PyObject *any_power(PyObject *v, PyObject *w) { return PyNumber_Power(v, w, Py_None); }

static PyObject *array_power(PyObject *v, PyObject *w, PyObject *modulus)
{
    return modulus == Py_None ? binary(v, w, own_power, any_power) : own.power(v, w, modulus);
}

/* Small products go to NumPy directly; large ones to __array_ufunc__. */
static PyObject *array_matrix_multiply(PyObject *v, PyObject *w)
{
    const int small = is_small(v, w);
    if (small < 0) return NULL;
    if (small) return usual(v, w, own.matrix_multiply_slot);
    return is_overruled(v, w) ? binary(v, w, own.matrix_multiply_slot, PyNumber_MatrixMultiply) : own.matrix_multiply_slot(v, w);
}

/* v < w and the other comparisons; v is the Array, because Python exchanges the operands if it is
 * on the right. */
static PyObject *array_compare(PyObject *v, PyObject *w, int operation)
{
    const int quick = is_usual(v) && is_usual(w);
    if (!quick && !is_overruled(v, w)) return own.compare(v, w, operation);
    PyObject *a = view_as(&PyArray_Type, v), *b = a ? plain(w) : NULL, *result = NULL;
    if (b) result = quick ? ours(own.compare(a, b, operation)) : PyObject_RichCompare(a, b, operation);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return result;
}

/* Fills `own`. */
static void find_slots(void)
{
#define X(name, ...) own.name##_slot = (binaryfunc)PyType_GetSlot(&PyArray_Type, Py_nb_##name);
    BINARIES(X) IN_PLACE(X) X(matrix_multiply)
#undef X
#define X(name) own.name##_slot = (unaryfunc)PyType_GetSlot(&PyArray_Type, Py_nb_##name);
    UNARIES(X)
#undef X
    own.power = (ternaryfunc)PyType_GetSlot(&PyArray_Type, Py_nb_power);
    own.compare = (richcmpfunc)PyType_GetSlot(&PyArray_Type, Py_tp_richcompare);
}

/* ---- ufuncs ---------------------------------------------------------------------------------- */

/* Calls function(first, *args, **options), or without `first` if that is NULL; the options are the
 * values after the arguments. */
static PyObject *call(PyObject *function, PyObject *first, PyObject *const *args, Py_ssize_t count, PyObject *const *values, PyObject *names)
{
    const Py_ssize_t in_front = first != NULL, named = names ? PyTuple_Size(names) : 0;
    PyObject *all = PyTuple_New(count + in_front), *options = named ? PyDict_New() : NULL, *result = NULL;
    int failed = !all || (named && !options);
    for (Py_ssize_t i = 0; !failed && i < count + in_front; i++) {
        PyObject *x = i < in_front ? first : args[i - in_front];
        Py_INCREF(x);
        failed = PyTuple_SetItem(all, i, x) < 0;
    }
    for (Py_ssize_t i = 0; !failed && i < named; i++) failed = PyDict_SetItem(options, PyTuple_GetItem(names, i), values[i]) < 0;
    if (!failed) result = PyObject_Call(function, all, options);
    Py_XDECREF(all);
    Py_XDECREF(options);
    return result;
}

static int is_text(PyObject *x, const char *text) { return PyUnicode_Check(x) && PyUnicode_CompareWithASCIIString(x, text) == 0; }

/* Returns whether an option affects neither which class answers nor the type of a returned
 * array. */
static int is_harmless(PyObject *name, PyObject *value)
{
    static const char *const harmless[] = {"axis", "dtype", "keepdims", "initial", "casting", "order"};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (is_text(name, harmless[i])) return 1;
    return is_text(name, "where") && PyBool_Check(value);
}

enum { MOST_INPUTS = 3 };

/* Calls ufunc(*inputs), or another of its methods with options, with plain arrays in place of
 * Arrays. */
static PyObject *call_ufunc(PyObject *ufunc, PyObject *method, PyObject *const *args, Py_ssize_t inputs, PyObject *names)
{
    PyObject *x[MOST_INPUTS] = {NULL}, *result = NULL;
    Py_ssize_t ready = 0;
    while (ready < inputs && (x[ready] = plain(args[ready]))) ready++;
    if (ready == inputs && !names && is_text(method, "__call__")) {
        result = PyObject_CallFunctionObjArgs(ufunc, x[0], x[1], x[2], NULL);
    } else if (ready == inputs) {
        PyObject *function = PyObject_GetAttr(ufunc, method);
        if (function) result = call(function, NULL, x, inputs, args + inputs, names);
        Py_XDECREF(function);
    }
    for (Py_ssize_t i = 0; i < ready; i++) Py_DECREF(x[i]);
    return all_ours(result);
}

/* Array.__array_ufunc__(ufunc, method, *inputs, **options): handles calls with usual inputs and
 * harmless options, except large products. */
static PyObject *array_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    const Py_ssize_t inputs = count - 2, named = names ? PyTuple_Size(names) : 0;
    int quick = is_ours(self) && inputs >= 1 && inputs <= MOST_INPUTS && PyUnicode_Check(args[1]);
    for (Py_ssize_t i = 0; quick && i < inputs; i++) quick = is_usual(args[2 + i]);
    for (Py_ssize_t i = 0; quick && i < named; i++) quick = is_harmless(PyTuple_GetItem(names, i), args[count + i]);
    if (quick && args[0] == known.matmul) quick = inputs == 2 && !named ? is_small(args[2], args[3]) : 0;
    if (quick < 0) return NULL;
    if (quick) return call_ufunc(args[0], args[1], args + 2, inputs, named ? names : NULL);
    return call(known.ufunc, self, args, count, args + count, names);
}

/* ---- the type -------------------------------------------------------------------------------- */

#define X(name, ...) {Py_nb_##name, (void *)array_##name},
static PyType_Slot slots[] = {
    BINARIES(X) IN_PLACE(X) UNARIES(X) X(power) X(matrix_multiply)
    {Py_tp_richcompare, (void *)array_compare},
    {0, NULL},
};
#undef X
static PyType_Spec spec = {.name = "hetsched.Array", .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .slots = slots};
static PyMethodDef ufunc_method = {"__array_ufunc__", (PyCFunction)(void *)array_ufunc, METH_FASTCALL | METH_KEYWORDS, NULL};

/* Returns the size in bytes of an object of the type, -1 with an error set. */
static long size_of(PyTypeObject *type)
{
    PyObject *size = PyObject_GetAttrString((PyObject *)type, "__basicsize__");
    const long found = size ? PyLong_AsLong(size) : -1;
    Py_XDECREF(size);
    return found;
}

/* Returns whether an object of one type, static, can become one of the other by changing its type
 * alone: it must have the same size, and nothing in front of it. */
static int is_alike(PyTypeObject *from, PyTypeObject *to)
{
    /* weak references and dictionaries in front of the object: from 3.12 on */
    const unsigned long hidden = Py_TPFLAGS_HAVE_GC | 1ul << 3 | 1ul << 4;
    if (PyType_GetFlags(from) & (hidden | Py_TPFLAGS_HEAPTYPE) || PyType_GetFlags(to) & hidden) return 0;
    const long size = size_of(from);
    return size > 0 && size == size_of(to);
}

/* array_type(ufunc, limits): makes the type of Arrays, a subclass of ndarray with the operators
 * above, once. Objects of a class made in Python would be subject to garbage collection, unlike
 * ndarrays, and creating them would take twice as long. */
static PyObject *array_type(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || known.array) {
        PyErr_SetString(PyExc_TypeError, "array_type is called once, with the general function for ufuncs and the limits");
        return NULL;
    }
    PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyArray_Type);
    PyObject *type = bases ? PyType_FromSpecWithBases(&spec, bases) : NULL;
    PyObject *method = type ? PyDescr_NewMethod((PyTypeObject *)type, &ufunc_method) : NULL;
    Py_XDECREF(bases);
    if (!method || PyObject_SetAttrString(type, ufunc_method.ml_name, method) < 0) Py_CLEAR(type);
    Py_XDECREF(method);
    if (!type) return NULL;
    Py_INCREF(args[0]);
    Py_INCREF(args[1]);
    Py_INCREF(type);
    known.ufunc = args[0], known.limits = args[1], known.array = (PyTypeObject *)type;
    known.retypes = is_alike(&PyArray_Type, known.array);
    if (!PyErr_Occurred()) return type;
    Py_DECREF(type);
    return NULL;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* array(A, dtype): returns an Array of a plain array that needs no conversion, else None. */
static PyObject *array(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count == 2 && known.array && is_plain(args[0]) && args[1] == Py_None) return view_as(known.array, args[0]);
    Py_RETURN_NONE;
}

/* Returns whether x is a plain array, contiguous, aligned and in this machine's byte order. */
static int is_simple(PyObject *x)
{
    if (!is_plain(x)) return 0;
    const PyArrayObject *a = (const PyArrayObject *)x;
    const int order = PyArray_FLAGS(a) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    return order && PyArray_CHKFLAGS(a, NPY_ARRAY_ALIGNED) && PyArray_ISNOTSWAPPED(a);
}

static int is_number(PyObject *x, double value) { return PyFloat_CheckExact(x) && PyFloat_AsDouble(x) == value; }

static int is_one(PyObject *x)
{
    int overflow;
    return PyLong_CheckExact(x) && PyLong_AsLongAndOverflow(x, &overflow) == 1;
}

/* Returns whether contiguous arrays share memory. */
static int overlap(PyArrayObject *a, PyArrayObject *b)
{
    const char *start = PyArray_BYTES(a), *other = PyArray_BYTES(b);
    return start < other + PyArray_NBYTES(b) && other < start + PyArray_NBYTES(a);
}

/* Returns whether the product of two simple arrays can be written to an object: both are matrices,
 * and it is a plain matrix by rows of their type, with the right shape and memory of its own. */
static int is_output(PyObject *x, PyArrayObject *a, PyArrayObject *b)
{
    if (!is_plain(x) || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2) return 0;
    PyArrayObject *c = (PyArrayObject *)x;
    if (PyArray_NDIM(c) != 2 || !PyArray_ISCARRAY(c) || PyArray_DESCR(c) != PyArray_DESCR(a)) return 0;
    if (PyArray_DIM(c, 0) != PyArray_DIM(a, 0) || PyArray_DIM(c, 1) != PyArray_DIM(b, 1)) return 0;
    return !overlap(a, c) && !overlap(b, c);
}

/* product(A, B, out, alpha, beta, method, trace, progress, limit[, block, communication]): looks at
 * the arguments of matmul. If A and B are simple matrices or vectors of one supported type, `out` is
 * None or can be written to, and the other arguments have their defaults, it returns
 * numpy.matmul(A, B, out), or True for two matrices with more than `limit` multiply-adds. In all
 * other cases it returns None. */
static PyObject *product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count < 9 || !is_number(args[3], 1.0) || !is_number(args[4], 0.0)) Py_RETURN_NONE;
    if (args[5] != known.automatic || args[6] != Py_False || args[7] != Py_None) Py_RETURN_NONE;
    if (count > 9 && (count != 11 || !is_one(args[9]) || args[10] != known.once)) Py_RETURN_NONE;
    if (!is_simple(args[0]) || !is_simple(args[1])) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
    const int type = PyArray_TYPE(a);
    if (PyArray_DESCR(a) != PyArray_DESCR(b) || !(type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_CFLOAT || type == NPY_CDOUBLE))
        Py_RETURN_NONE;
    const double work = multiply_adds(args[0], args[1]), limit = PyFloat_AsDouble(args[8]);
    if (limit == -1.0 && PyErr_Occurred()) return NULL;
    if (work < 0.0 || (args[2] != Py_None && !is_output(args[2], a, b))) Py_RETURN_NONE;
    if (work <= limit) return PyObject_CallFunctionObjArgs(known.matmul, args[0], args[1], args[2] == Py_None ? NULL : args[2], NULL);
    if (PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2) Py_RETURN_NONE;
    Py_RETURN_TRUE;
}

/* watch(flag): sets whether products of Arrays are counted from now on. */
static PyObject *watch(PyObject *module, PyObject *flag)
{
    (void)module;
    const int watched = PyObject_IsTrue(flag);
    if (watched < 0) return NULL;
    known.watched = watched;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"array", (PyCFunction)(void *)array, METH_FASTCALL, NULL},
    {"array_type", (PyCFunction)(void *)array_type, METH_FASTCALL, NULL},
    {"watch", (PyCFunction)watch, METH_O, NULL},
    {"product", (PyCFunction)(void *)product, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "_fast", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__fast(void)
{
    /* the macro around this function would print */
    if (_import_array() < 0) {
        PyErr_SetString(PyExc_ImportError, "not built for this NumPy");
        return NULL;
    }
    find_slots();
    PyObject *numpy = PyImport_ImportModule("numpy");
    known.matmul = numpy ? PyObject_GetAttrString(numpy, "matmul") : NULL;
    Py_XDECREF(numpy);
    known.small = PyUnicode_InternFromString("SMALL");
    known.automatic = PyUnicode_InternFromString("auto");
    known.once = PyUnicode_InternFromString("once");
    if (!known.matmul || !known.small || !known.automatic || !known.once) return NULL;
    return PyModule_Create(&definition);
}

// What is on the stack of each boxed call: a fallback for a key that no tensor has, which writes tags and values down.
//
// Between watch_begins() and watch_ends() the thread includes the key, so every call comes here first; what it calls
// does not. A line is a JSON array: operator, arguments, returns; of each value its tag and what is in it.

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <sstream>

namespace {

constexpr c10::DispatchKey KEY = c10::DispatchKey::TESTING_ONLY_GenericMode;
std::ostringstream seen;
std::string last;

void write(const c10::IValue& value);

template <class Values>
void write_all(const Values& values) {
  const char* between = "[";
  for (const auto& value : values) {
    seen << between;
    write(value);
    between = ", ";
  }
  seen << (values.empty() ? "[]" : "]");
}

void write(double value) {
  seen << "\"" << std::hexfloat << value << std::defaultfloat << "\"";
}

void write(const c10::IValue& value) {
  seen << "[\"" << value.tagKind() << "\", ";
  if (value.isTensor()) {
    seen << (value.toTensor().defined() ? "true" : "false");
  } else if (value.isList()) {
    write_all(value.toListRef());
  } else if (value.isTuple()) {
    write_all(value.toTupleRef().elements());
  } else if (value.isGenericDict()) {
    const char* between = "[";
    for (const auto& entry : value.toGenericDict()) {
      seen << between;
      write(entry.key());
      seen << ", ";
      write(entry.value());
      between = ", ";
    }
    seen << "]";
  } else if (value.isInt()) {
    seen << value.toInt();
  } else if (value.isBool()) {
    seen << (value.toBool() ? "true" : "false");
  } else if (value.isUnsigned()) {
    seen << value.toUInt();
  } else if (value.isDouble()) {
    write(value.toDouble());
  } else if (value.isComplexDouble()) {
    seen << "[";
    write(value.toComplexDouble().real());
    seen << ", ";
    write(value.toComplexDouble().imag());
    seen << "]";
  } else if (value.isString()) {
    seen << "\"" << value.toStringRef() << "\"";
  } else if (value.isDevice()) {
    seen << "\"" << value.toDevice().str() << "\"";
  } else {
    seen << "null";
  }
  seen << "]";
}

void watch(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  seen << "[\"" << op.operator_name() << "\", ";
  write_all(torch::jit::last(*stack, op.schema().arguments().size()));
  c10::impl::ExcludeDispatchKeyGuard guard(KEY);
  op.callBoxed(stack);
  seen << ", ";
  write_all(torch::jit::last(*stack, op.schema().returns().size()));
  seen << "]\n";
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&watch>());
}

} // namespace

extern "C" void watch_begins() {
  seen.str("");
  c10::impl::tls_set_dispatch_key_included(KEY, true);
}

extern "C" const char* watch_ends() {
  c10::impl::tls_set_dispatch_key_included(KEY, false);
  last = seen.str();
  return last.c_str();
}

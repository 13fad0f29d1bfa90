// What a boxed call costs in PyTorch: an operator with three arguments whose kernel does nothing, unboxed and boxed.
//
//   T=$(python -c 'import torch; print(torch.__path__[0])')
//   g++ -O2 -std=c++20 boxed_calls.cpp -I$T/include -I$T/include/torch/csrc/api/include \
//       -L$T/lib -ltorch -ltorch_cpu -lc10 -Wl,-rpath,$T/lib -o boxed_calls && ./boxed_calls

#include <torch/library.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>

at::Tensor unboxed(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  return self;
}

void boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto count = op.schema().arguments().size();
  auto self = torch::jit::peek(*stack, 0, count).toTensor();
  torch::jit::drop(*stack, count);
  torch::jit::push(*stack, std::move(self));
}

TORCH_LIBRARY(bench, m) {
  m.def("unboxed(Tensor self, Tensor other, Scalar alpha) -> Tensor");
  m.def("boxed(Tensor self, Tensor other, Scalar alpha) -> Tensor");
}

TORCH_LIBRARY_IMPL(bench, CPU, m) {
  m.impl("unboxed", unboxed);
  m.impl("boxed", torch::CppFunction::makeFromBoxedFunction<&boxed>());
}

double nanoseconds(const char* name) {
  constexpr int calls = 2'000'000;
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<decltype(unboxed)>();
  const auto x = at::ones({2}), y = at::ones({2});
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; i++) {
    op.call(x, y, 1);
  }
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / calls;
}

int main() {
  const c10::InferenceMode below_autograd;
  for (int round = 0; round < 5; round++) {
    const auto plain = nanoseconds("bench::unboxed"), on_stack = nanoseconds("bench::boxed");
    std::printf("unboxed %.1f ns  boxed %.1f ns  ratio %.2f\n", plain, on_stack, on_stack / plain);
  }
}

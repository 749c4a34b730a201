r"""SparseMAP as a differentiable function: reverse mode, forward mode, and any order.

Around a solution with support S the posterior is affine in the scores (Niculae et al. 2018,
EMNLP, section 3.2): with `K = M_S^T M_S + 1 1^T` and

    J = K^-1 - K^-1 1 1^T K^-1 / (1^T K^-1 1)

the differentials are `d weights = J M_S^T d theta` and `d marginals = M_S J M_S^T d theta`. A
solver hands over the Cholesky factor of `K`; the symmetric operator

    (w, p)  ->  (x, M_S x),   x = J (w + M_S^T p)

is an op. It serves both modes and, as it is self-adjoint, derivatives of any order. If only some
parts are penalised, `K` is computed from those parts and the formulas are otherwise the same. The
op knows only 0/1 parts: if parts are numbers it applies `J`, and torch multiplies by `M_S`.

Custom ops support only reverse mode. Outside of compiled graphs the solver is therefore wrapped in
a `torch.autograd.Function`, which also supports forward mode and the transforms of `torch.func`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.support import instances
from sparsewood._internal.threads import get_num_threads
from sparsewood._internal.transforms import is_transformed, nested, no_vmap
from sparsewood.inference import _kernels
from sparsewood.inference._solution import Solution

_AT_ONCE = 2**22  # numbers copied at once by vmap over directions


def differentiable(
    solve: Callable[[Tensor, Tensor], Solution], scores: Tensor, temperature: Tensor
) -> Solution:
    """`solve(scores, temperature)` with derivatives.

    `solve` is called on plain values. It takes scores (B, *parts) and temperatures (B,) float64.
    """
    learns = torch.is_grad_enabled() and (scores.requires_grad or temperature.requires_grad)
    if not (learns or is_transformed(scores, temperature)):
        return solve(scores, temperature)
    # The solution depends on its inputs only through theta, in which it is affine.
    theta, divisor = scores, temperature
    if temperature.requires_grad or is_transformed(scores, temperature):
        theta, divisor = usable(scores) / temperature[:, None], None
    return Solution(*_Solve.apply(theta, divisor, scores.detach(), temperature.detach(), solve))


class _Solve(torch.autograd.Function):
    """Differentiable in `theta` (B, P) float64, or in the scores, divided by `divisor` (B,)."""

    @staticmethod
    def forward(
        theta: Tensor,
        divisor: Tensor | None,
        scores: Tensor,
        temperature: Tensor,
        solve: Callable[[Tensor, Tensor], Solution],
    ) -> tuple[Tensor, ...]:
        return tuple(solve(scores, temperature))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        found = Solution(*output)
        ctx.mark_non_differentiable(*found[2:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(found.used, found.sizes, found.factor, inputs[1])
        ctx.save_for_forward(found.used, found.sizes, found.factor)
        ctx.shape, ctx.dtype = inputs[2].shape, inputs[2].dtype

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        *support, divisor = ctx.saved_tensors
        gradient = None
        plain = not (torch.is_grad_enabled() or is_transformed() or _of_numbers(support[0]))
        if divisor is not None and plain:
            last = divisor, ctx.shape, ctx.dtype  # no second derivative is needed
            gradient = _kernels.score_gradient(support, grads[0], grads[1], *last)
        if gradient is None:
            gradient = on_theta(support, grads[0], grads[1], ctx.shape)
            if divisor is not None:
                gradient = (gradient / divisor[:, None]).reshape(ctx.shape).to(ctx.dtype)
        return gradient, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor | None, ...]:
        used, sizes, factor = ctx.saved_tensors
        if tangents[0] is None:
            return (None,) * len(Solution._fields)
        with nested():
            still = factor.new_zeros(len(used))
            weights, marginals = jacobian(used, sizes, factor, still, tangents[0])
            marginals = marginals.reshape(ctx.shape).to(ctx.dtype)
            return weights.to(ctx.dtype), marginals, *[None] * (len(Solution._fields) - 2)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> None:
        raise no_vmap("sparsemap")


def save_solution(ctx: Any, scores: Tensor, temperature: Tensor, found: Solution) -> None:
    """Save what `solution_backward` needs."""
    ctx.mark_non_differentiable(*found[2:])
    ctx.set_materialize_grads(False)
    reached = found.temperature == temperature
    lowered = found.temperature, reached
    ctx.save_for_backward(scores, *lowered, found.used, found.sizes, found.factor)


def solution_backward(
    ctx: Any, on_weights: Tensor | None, on_marginals: Tensor | None, with_temperature: bool
) -> tuple[Tensor | None, Tensor | None]:
    """The gradient of the scores and, `with_temperature`, of the temperature if it was reached."""
    scores, temperature, reached, *support = ctx.saved_tensors
    gradient = on_theta(support, on_weights, on_marginals, scores.shape)
    on_scores = on_temperature = None
    if ctx.needs_input_grad[0]:
        on_scores = (gradient / temperature[:, None]).to(scores.dtype).reshape(scores.shape)
    if with_temperature:
        on_temperature = -(usable(scores) * gradient).sum(1) / temperature.square() * reached
    return on_scores, on_temperature


def on_theta(
    support: Sequence[Tensor],
    on_weights: Tensor | None,
    on_marginals: Tensor | None,
    shape: Sequence[int],
) -> Tensor:
    """The gradient of `theta` (B, P), float64, given the gradients of weights and marginals."""
    used, sizes, factor = support
    # len() would fix the size in a graph
    w = factor.new_zeros(used.shape[0]) if on_weights is None else on_weights
    p = factor.new_zeros(shape) if on_marginals is None else on_marginals
    return jacobian(used, sizes, factor, w, p.flatten(1))[1]


def usable(scores: Tensor) -> Tensor:
    """The scores as (B, P) float64, 0 for -inf and NaN: no structure of the support uses them."""
    return torch.where(scores.isfinite(), scores, 0).flatten(1).double()


def jacobian(
    used: Tensor, sizes: Tensor, factor: Tensor, on_weights: Tensor, on_parts: Tensor
) -> tuple[Tensor, Tensor]:
    """(x, M_S x) with x = J (on_weights + M_S^T on_parts): (T,) and (B, P), float64."""
    apply = jacobian_op if torch.compiler.is_compiling() else _Jacobian.apply
    if not _of_numbers(used):
        return apply(used, sizes, factor, on_weights, on_parts)
    rows, on_parts = instances(sizes, used.shape[0]), on_parts.to(used.dtype)
    along = on_weights.to(used.dtype) + (used * on_parts[rows]).sum(-1)
    nothing = used.new_empty(len(used), 0).long()

    def solved(along: Tensor) -> Tensor:
        return apply(nothing, sizes, factor, along, on_parts[:, :0])[0]

    def combined(x: Tensor) -> Tensor:
        return torch.zeros_like(on_parts).index_add(0, rows, x.unsqueeze(-1) * used)

    x = solved(along)
    # One step of refinement: columns of many numbers may be close to each other.
    x = x + solved(along - (used * combined(x)[rows]).sum(-1))
    return x, combined(x)


def _of_numbers(used: Tensor) -> bool:
    """Whether `Solution.used` holds values of parts, not indices."""
    return used.is_floating_point()


class _Jacobian(torch.autograd.Function):
    @staticmethod
    def forward(*inputs: Tensor) -> tuple[Tensor, Tensor]:
        # Calling the op costs some launches, but tracers must see it.
        traced = torch._C._len_torch_dispatch_stack() > 0
        if traced or any(type(table) is not Tensor for table in inputs):
            return jacobian_op(*inputs)
        return _apply_jacobian(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        _save_support(ctx, inputs, output)
        ctx.save_for_forward(*inputs[:3])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _jacobian_backward(ctx, grads[0], grads[1])

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor, Tensor]:
        used, sizes, factor = ctx.saved_tensors
        on_weights, on_parts = tangents[3:]
        if on_weights is None:
            on_weights = factor.new_zeros(len(used))
        if on_parts is None:
            on_parts = factor.new_zeros(ctx.shape)
        with nested():
            return jacobian(used, sizes, factor, on_weights, on_parts)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, int]]:
        """Map over directions, which become instances of a larger batch."""
        assert all(dim is None for dim in in_dims[:3])  # `_Solve.vmap` refuses
        used, sizes, factor = inputs[:3]
        on_weights, on_parts = (
            table.expand(info.batch_size, *table.shape) if dim is None else table.movedim(dim, 0)
            for table, dim in zip(inputs[3:], in_dims[3:], strict=True)
        )
        step = max(1, _AT_ONCE // (factor.numel() + used.numel() + on_parts[0].numel() + 1))
        found = []
        for w, p in zip(on_weights.split(step), on_parts.split(step), strict=True):
            copies = used.repeat(len(w), 1), sizes.repeat(len(w)), factor.repeat(len(w))
            x, out = jacobian(*copies, w.flatten(), p.flatten(0, 1))
            found.append((x.reshape(w.shape), out.reshape(p.shape)))
        return tuple(torch.cat(blocks) for blocks in zip(*found, strict=True)), (0, 0)


def array(tensor: Tensor, dtype: torch.dtype) -> NDArray[Any]:
    """The values as a contiguous array of `dtype` on the CPU."""
    return tensor.detach().to("cpu", dtype).contiguous().numpy()


def _apply_jacobian(
    used: Tensor, sizes: Tensor, factor: Tensor, on_weights: Tensor, on_parts: Tensor
) -> tuple[Tensor, Tensor]:
    """`jacobian` for plain values."""
    found = _kernels.jacobian(used, sizes, factor, on_weights, on_parts)
    if found is not None:
        return found
    x, out = _native.jacobian(
        array(used, torch.int64),
        array(sizes, torch.int64),
        array(factor, torch.float64),
        array(on_weights, torch.float64),
        array(on_parts, torch.float64),
        get_num_threads(),
    )
    return torch.from_numpy(x).to(factor.device), torch.from_numpy(out).to(factor.device)


jacobian_op = torch.library.custom_op(
    "sparsewood::sparsemap_jacobian", _apply_jacobian, mutates_args=()
)


@jacobian_op.register_fake
def _(
    used: Tensor, sizes: Tensor, factor: Tensor, on_weights: Tensor, on_parts: Tensor
) -> tuple[Tensor, Tensor]:
    return factor.new_empty(on_weights.shape), factor.new_empty(on_parts.shape)


def _save_support(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*inputs[:3])
    ctx.dtypes = inputs[3].dtype, inputs[4].dtype
    ctx.shape = inputs[4].shape


def _jacobian_backward(ctx: Any, on_x: Tensor, on_parts: Tensor) -> tuple[Tensor | None, ...]:
    support: tuple[Tensor, Tensor, Tensor] = ctx.saved_tensors
    x, parts = jacobian(*support, on_x, on_parts)
    return None, None, None, x.to(ctx.dtypes[0]), parts.to(ctx.dtypes[1])


jacobian_op.register_autograd(_jacobian_backward, setup_context=_save_support)

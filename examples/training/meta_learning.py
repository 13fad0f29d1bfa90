"""Learning to learn (MAML) with torch.func: a gradient through a step of training, for all tasks at once."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(2)
model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}


def loss_of(parameters, x, y):
    return (functional_call(model, parameters, (x,)) - y).square().mean()


def after_a_step(parameters, x, y):
    """Return the parameters after one step of gradient descent on a task."""
    slopes = grad(loss_of)(parameters, x, y)
    return {name: parameter.sub(slopes[name], alpha=0.1) for name, parameter in parameters.items()}


def loss_after_a_step(parameters, x, y, new_x, new_y):
    return loss_of(after_a_step(parameters, x, y), new_x, new_y)


def loss_of_tasks(parameters, *tasks):
    losses = vmap(loss_after_a_step, in_dims=(None, 0, 0, 0, 0))(parameters, *tasks)
    return losses.mean(), losses


for epoch in range(3):
    height, shift = torch.rand(2, 4, 1, 1) + 0.5
    x, new_x = torch.rand(2, 4, 5, 1) * 4 - 2
    tasks = x, height * (x + shift).sin(), new_x, height * (new_x + shift).sin()
    slopes, losses = grad(loss_of_tasks, has_aux=True)(parameters, *tasks)
    parameters = {name: parameter - 0.2 * slopes[name] for name, parameter in parameters.items()}
    print(epoch, losses)

x = torch.tensor([[0.0], [1.0]])
tuned = after_a_step(parameters, x, x.sin())
print(loss_of(parameters, x, x.sin()), loss_of(tuned, x, x.sin()))
print([(name, tuple(parameter.shape)) for name, parameter in tuned.items()])

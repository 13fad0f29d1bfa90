"""``torch.optim``: optimizers and learning rate schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.torch.optim import _adafactor as _adafactor
from dispatchviz.torch.optim import _muon as _muon
from dispatchviz.torch.optim import adadelta as adadelta
from dispatchviz.torch.optim import adagrad as adagrad
from dispatchviz.torch.optim import adamax as adamax
from dispatchviz.torch.optim import asgd as asgd
from dispatchviz.torch.optim import lbfgs as lbfgs
from dispatchviz.torch.optim import lr_scheduler as lr_scheduler
from dispatchviz.torch.optim import nadam as nadam
from dispatchviz.torch.optim import radam as radam
from dispatchviz.torch.optim import rmsprop as rmsprop
from dispatchviz.torch.optim import rprop as rprop
from dispatchviz.torch.optim import swa_utils as swa_utils
from dispatchviz.torch.optim.adam import Adam as Adam
from dispatchviz.torch.optim.adam import AdamW as AdamW
from dispatchviz.torch.optim.optimizer import Optimizer as Optimizer
from dispatchviz.torch.optim.sgd import SGD as SGD

if TYPE_CHECKING:  # looked up when first used: ``_lazy_modules.ATTRIBUTES``
    from dispatchviz.torch.optim._adafactor import Adafactor as Adafactor
    from dispatchviz.torch.optim._muon import Muon as Muon
    from dispatchviz.torch.optim.adadelta import Adadelta as Adadelta
    from dispatchviz.torch.optim.adagrad import Adagrad as Adagrad
    from dispatchviz.torch.optim.adamax import Adamax as Adamax
    from dispatchviz.torch.optim.asgd import ASGD as ASGD
    from dispatchviz.torch.optim.lbfgs import LBFGS as LBFGS
    from dispatchviz.torch.optim.nadam import NAdam as NAdam
    from dispatchviz.torch.optim.radam import RAdam as RAdam
    from dispatchviz.torch.optim.rmsprop import RMSprop as RMSprop
    from dispatchviz.torch.optim.rprop import Rprop as Rprop

__all__ = [
    *(
        "ASGD",
        "LBFGS",
        "SGD",
        "Adadelta",
        "Adafactor",
        "Adagrad",
        "Adam",
        "AdamW",
        "Adamax",
        "Muon",
        "NAdam",
        "Optimizer",
        "RAdam",
        "RMSprop",
        "Rprop",
    ),
]

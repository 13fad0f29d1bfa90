"""A recurrent encoder and a decoder that attends to it: words are read, then spelled backward."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, START, END = 0, 1, 2


class Encoder(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width, padding_idx=PAD)
        self.gru = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * width, width)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embedding(words), lengths, batch_first=True, enforce_sorted=False)
        outputs, last = self.gru(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True)
        return self.bridge(outputs), self.bridge(torch.cat([last[0], last[1]], dim=1)).tanh()


class Decoder(nn.Module):
    """One letter per step, with attention: a softmax of products over everything that is not padding."""

    def __init__(self, tokens, width):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.cell = nn.GRUCell(2 * width, width)
        self.say = nn.Linear(2 * width, tokens)

    def forward(self, letter, state, read, mask):
        weights = (read @ state.unsqueeze(2)).squeeze(2).masked_fill(mask, float("-inf")).softmax(dim=1)
        seen = torch.bmm(weights.unsqueeze(1), read).squeeze(1)
        state = self.cell(torch.cat([self.embedding(letter), seen], dim=1), state)
        return self.say(torch.cat([state, seen], dim=1)), state, weights


torch.manual_seed(4)
words = [torch.tensor([3, 4, 5]), torch.tensor([6, 3]), torch.tensor([5, 6, 4, 3])]
lengths = torch.tensor([len(word) for word in words])
sources = pad_sequence(words, batch_first=True, padding_value=PAD)
targets = pad_sequence([torch.cat([word.flip(0), torch.tensor([END])]) for word in words], batch_first=True)
mask = sources == PAD
encoder, decoder = Encoder(7, 6), Decoder(7, 6)
parameters = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.NAdam(parameters, lr=0.05)
for epoch in range(3):
    read, state = encoder(sources, lengths)
    letter, loss = torch.full((3,), START), 0
    for place in range(targets.size(1)):
        scores, state, _ = decoder(letter, state, read, mask)
        loss = loss + F.cross_entropy(scores, targets[:, place], ignore_index=PAD, reduction="sum")
        letter = targets[:, place] if epoch < 2 else scores.argmax(dim=1)
    loss = loss / (targets != PAD).sum()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    print(f"{epoch}: {loss:.4f}, gradient {norm:.4f}")

with torch.no_grad():
    read, state = encoder(sources[:1], lengths[:1])
    letter, said = torch.tensor([START]), []
    for _ in range(3):
        scores, state, weights = decoder(letter, state, read, mask[:1, : read.size(1)])
        letter = scores.argmax(dim=1)
        said.append(letter.item())
print(said, weights)

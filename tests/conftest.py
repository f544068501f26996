"""One thread a process; hypothesis without a deadline, since the machine is shared."""

import hypothesis
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile("limen", deadline=None, max_examples=25, print_blob=True)
hypothesis.settings.load_profile("limen")

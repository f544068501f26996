"""The papers' experiments as data, one file each; results/ has what they measured."""

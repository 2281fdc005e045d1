"""Who answers: language models behind one gateway, their prices, and the catalogue of candidates."""

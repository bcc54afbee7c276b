"""Karpenter: NodePools, instance types and overlays, and what nodes made from them would be (karpenter-dra)."""

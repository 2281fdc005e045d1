"""Advisors: trained models that say who will solve a task; what they are asked, and how they are kept."""

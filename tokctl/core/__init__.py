"""What every other room uses: errors, atomic files, differences between systems, JSON, wording."""

"""One script a paper: the printed figure beside the measured one."""

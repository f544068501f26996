"""The page: one front end as a file, as a folder and live; its calls are the commands."""

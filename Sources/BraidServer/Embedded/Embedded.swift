/// Files that the binary carries, as it has none beside it. `Scripts/embed` writes those beside this one.
enum Embedded {}

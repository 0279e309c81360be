// Command hello stands for a program that is packed.
package main

func main() {}

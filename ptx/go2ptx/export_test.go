package go2ptx

// VerifyPasses makes Compile verify the intermediate representation after lowering and after each
// pass.
func VerifyPasses() { verify = true }

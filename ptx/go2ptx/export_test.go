package go2ptx

// VerifyPasses makes Compile check the intermediate form after lowering and after each pass.
func VerifyPasses() { verify = true }

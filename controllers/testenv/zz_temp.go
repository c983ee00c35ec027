package testenv

func (e *Environment) KubeConfigForTest() []byte { return e.kubeconfigTemp }
